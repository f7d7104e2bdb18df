//! The frame around the views: menu bar, toolbar, status bar, first screen, dialogs.

pub mod help;
pub mod menu_bar;
mod order_menu;
pub mod path_field;
pub mod status_bar;
pub mod toolbar;
pub mod welcome;
