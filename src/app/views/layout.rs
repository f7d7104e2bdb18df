//! How the views are docked: a tree of tiles that can be dragged, and the default arrangement.

use egui::{Color32, Rect, Stroke, Ui, WidgetText};
use egui_tiles::{Behavior, Container, Linear, LinearDir, ResizeState, SimplificationOptions, TileId, Tiles, Tree, UiResponse};

use super::Pane;
use crate::theme::{Tokens, space};

/// The docked views.
#[derive(Debug)]
pub struct Docking {
    tree: Tree<Pane>,
    is_narrow: bool,
    /// The width for which the columns were last set; a divider moved by hand stays until the window changes.
    width: f32,
}

impl Default for Docking {
    fn default() -> Self {
        Self { tree: default_tree(false), is_narrow: false, width: 0.0 }
    }
}

/// Shares of height of Lifetimes, Arena, Memory and Table, by eye on 1440 × 900.
const SHARES: [f32; 4] = [268.0, 220.0, 154.0, 126.0];

/// The same where the right column is part of the foot: three rows of the table stay in sight.
const NARROW_SHARES: [f32; 4] = [118.0, 112.0, 110.0, 156.0];

/// The right column begins at this width and grows to that one once the window is wider than the first size.
const RIGHT: [f32; 2] = [373.0, 520.0];
const FIRST_WIDTH: f32 = 1440.0;

fn default_tree(is_narrow: bool) -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let charts: Vec<TileId> = [Pane::Lifetimes, Pane::Arena, Pane::Memory].into_iter().map(|pane| tiles.insert_pane(pane)).collect();
    let table = tiles.insert_pane(Pane::Table);
    let interference = tiles.insert_pane(Pane::Interference);
    let inspector = tiles.insert_pane(Pane::Inspector);
    let bottom = if is_narrow { tiles.insert_tab_tile(vec![table, interference, inspector]) } else { table };
    let mut left = Linear::new(LinearDir::Vertical, charts.iter().copied().chain([bottom]).collect());
    let shares = if is_narrow { NARROW_SHARES } else { SHARES };
    for (child, share) in left.children.clone().into_iter().zip(shares) {
        left.shares.set_share(child, share);
    }
    let left = tiles.insert_container(Container::Linear(left));
    if is_narrow {
        return Tree::new(egui::Id::unique("views-narrow"), left, tiles);
    }
    let right = tiles.insert_vertical_tile(vec![interference, inspector]);
    if let Some(egui_tiles::Tile::Container(Container::Linear(linear))) = tiles.get_mut(right) {
        linear.shares.set_share(interference, 378.0);
        linear.shares.set_share(inspector, 418.0);
    }
    let mut root = Linear::new(LinearDir::Horizontal, vec![left, right]);
    root.shares.set_share(left, 1067.0);
    root.shares.set_share(right, 373.0);
    let root = tiles.insert_container(Container::Linear(root));
    Tree::new(egui::Id::unique("views"), root, tiles)
}

impl Docking {
    /// Draws all views; `pane_ui` draws one.
    pub fn ui(&mut self, ui: &mut Ui, t: &'static Tokens, pane_ui: &mut dyn FnMut(&mut Ui, Pane)) {
        let is_narrow = ui.available_width() < space::NARROW;
        if is_narrow != self.is_narrow {
            *self = Self { tree: default_tree(is_narrow), is_narrow, width: 0.0 };
        }
        if (ui.available_width() - self.width).abs() > 1.0 {
            self.width = ui.available_width();
            self.set_columns();
        }
        self.tree.ui(&mut Docked { t, pane_ui }, ui);
    }

    /// Extra width goes to the charts first, then to the right column.
    fn set_columns(&mut self) {
        let Some(root) = self.tree.root() else { return };
        let right = (RIGHT[0] + (self.width - FIRST_WIDTH) * 0.35).clamp(RIGHT[0], RIGHT[1]);
        if let Some(egui_tiles::Tile::Container(Container::Linear(linear))) = self.tree.tiles.get_mut(root)
            && let [left_tile, right_tile] = linear.children[..]
            && linear.dir == LinearDir::Horizontal
        {
            linear.shares.set_share(left_tile, (self.width - right).max(1.0));
            linear.shares.set_share(right_tile, right);
        }
    }

    /// Brings a view to the front of its tabs.
    pub fn show(&mut self, pane: Pane) {
        self.tree.make_active(|_, tile| matches!(tile, egui_tiles::Tile::Pane(other) if *other == pane));
    }
}

struct Docked<'a> {
    t: &'static Tokens,
    pane_ui: &'a mut dyn FnMut(&mut Ui, Pane),
}

impl Behavior<Pane> for Docked<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        let header = Rect::from_min_size(ui.max_rect().min, egui::vec2(110.0_f32.min(ui.available_width() * 0.3), space::PANEL_HEADER));
        ui.painter().rect_filled(ui.max_rect(), 0.0, self.t.bg1);
        let grip = ui.interact(header, ui.scope_id().with("grip"), egui::Sense::click_and_drag());
        (self.pane_ui)(ui, *pane);
        if grip.drag_started() { UiResponse::DragStarted } else { UiResponse::None }
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        egui::RichText::new(pane.title()).font(self.t.body_strong()).into()
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        space::TAB_BAR
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        1.0
    }

    fn min_size(&self) -> f32 {
        space::SMALLEST_CHART[2]
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: false, ..SimplificationOptions::default() }
    }

    fn resize_stroke(&self, _style: &egui::Style, state: ResizeState) -> Stroke {
        match state {
            ResizeState::Idle => Stroke::new(1.0, self.t.line),
            ResizeState::Hovering | ResizeState::Dragging => Stroke::new(2.0, self.t.accent),
        }
    }

    fn tab_bar_color(&self, _visuals: &egui::Visuals) -> Color32 {
        self.t.bg2
    }
}
