//! The drop-down of the toolbar that decides in which order ops run, and which may run side by side.

use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use egui::{Align2, RichText, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::command::{Command, CommandSender};
use crate::draw::{paint_icon, small_button};
use crate::orders::OrderTable;
use crate::session::{PlanOptions, Session, Stage};
use crate::text;
use crate::theme::{Icon, Tokens, radius, space};

/// Width of the list, points.
const WIDTH: f32 = 372.0;
/// The numbers of paths offered.
const PATHS: [u32; 3] = [2, 4, 8];

/// The word in the toolbar: the order, with a mark where ops may run side by side.
pub(super) fn shown(options: &PlanOptions) -> String {
    let order = options.prepare.order.name();
    if options.prepare.parallel == Parallel::Off { order.to_owned() } else { format!("{order}, beside") }
}

/// The orders with their peaks, once those were asked for, and the ways of running side by side.
pub(super) fn order_menu_ui(ui: &mut Ui, t: &'static Tokens, session: &Session, commands: &CommandSender) {
    ui.set_min_width(WIDTH);
    ui.spacing_mut().item_spacing.y = 1.0;
    let options = &session.options;
    let table = session.orders.value().filter(|table| table.is_of(options.prepare.order_settings()));
    heading(ui, t, "Order of the ops", table.map_or("", |_| "peak live bytes"));
    let file_bytes = table.and_then(|table| table.row(Order::File)).map(|row| row.peak_bytes);
    for order in Order::ALL {
        let numbers = table.map_or_else(String::new, |table| numbers(table, order, file_bytes));
        if choice_ui(ui, t, order.name(), &numbers, options.prepare.order == order).on_hover_text(hover(table.map(|table| &**table), order)).clicked()
        {
            commands.send(Command::SetOrder(order));
            ui.close();
        }
    }
    ui.add_space(4.0);
    match (&session.orders, table) {
        (Stage::Running(_), _) => note(ui, t, "Measuring every order…"),
        (Stage::Failed(message, _), _) => note(ui, t, message),
        (_, Some(_)) => {}
        (_, None) => {
            if small_button(ui, t, None, "Measure the peak of each").clicked() {
                commands.send(Command::MeasureOrders);
            }
        }
    }
    ui.add_space(4.0);
    ui.separator();
    heading(ui, t, "Ops that must be able to run side by side", "");
    let paths = PATHS.into_iter().map(|n| (Parallel::Paths(n), format!("those of {n} longest paths")));
    let modes = [
        (Parallel::Off, "none: the schedule decides who may share".to_owned()),
        (Parallel::Ancestors, "all that the graph does not order".to_owned()),
    ];
    for (mode, name) in modes.into_iter().chain(paths) {
        if choice_ui(ui, t, &name, "", options.prepare.parallel == mode).clicked() {
            commands.send(Command::SetParallel(mode));
            ui.close();
        }
    }
}

/// `9.00 MiB  −25.0 %`.
fn numbers(table: &OrderTable, order: Order, file_bytes: Option<u64>) -> String {
    let Some(row) = table.row(order) else { return String::new() };
    let change = match file_bytes.filter(|&file| file > 0 && file != row.peak_bytes) {
        #[expect(clippy::cast_precision_loss, reason = "a share with one decimal")]
        Some(file) => format!("  {}", text::change_percent(row.peak_bytes as f64 / file as f64 - 1.0)),
        None => String::new(),
    };
    let lowest = if row.is_lowest { ", the lowest there is" } else { "" };
    format!("{}{change}{lowest}", text::bytes(row.peak_bytes))
}

fn hover(table: Option<&OrderTable>, order: Order) -> String {
    let Some(row) = table.and_then(|table| table.row(order)) else { return order.summary().to_owned() };
    let note = row.note.as_ref().map_or_else(String::new, |note| format!("\n{note}"));
    format!("{}\nfound in {}{note}", order.summary(), text::time(row.seconds))
}

fn heading(ui: &mut Ui, t: &'static Tokens, title: &str, right: &str) {
    let (rect, _) = ui.allocate_exact_size(vec2(WIDTH, space::TABLE_ROW), Sense::hover());
    ui.painter().text(pos2(rect.left() + 6.0, rect.center().y), Align2::LEFT_CENTER, title, t.body(), t.text3);
    ui.painter().text(pos2(rect.right() - 6.0, rect.center().y), Align2::RIGHT_CENTER, right, t.body(), t.text3);
}

fn note(ui: &mut Ui, t: &'static Tokens, words: &str) {
    ui.label(RichText::new(words).font(t.body()).color(t.text3));
}

/// One choice of a list with a number at its right end.
fn choice_ui(ui: &mut Ui, t: &'static Tokens, name: &str, numbers: &str, is_chosen: bool) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(WIDTH, space::TABLE_ROW.max(t.size.body + 9.0)), Sense::click());
    let ground = match (is_chosen, response.hovered() || response.has_focus()) {
        (true, _) => t.accentbg,
        (false, true) => t.hoverbg,
        (false, false) => egui::Color32::TRANSPARENT,
    };
    ui.painter().rect_filled(rect, radius::CONTROL, ground);
    let y = rect.center().y;
    if is_chosen {
        paint_icon(ui.painter(), pos2(rect.left() + 12.0, y), Icon::CHECK, 12.0, t.accent);
    }
    ui.painter().text(pos2(rect.left() + 24.0, y), Align2::LEFT_CENTER, name, if is_chosen { t.body_strong() } else { t.body() }, t.text);
    ui.painter().text(pos2(rect.right() - 6.0, y), Align2::RIGHT_CENTER, numbers, t.body(), t.text2);
    let label = if numbers.is_empty() { name.to_owned() } else { format!("{name} {numbers}") };
    response.widget_info(|| WidgetInfo::selected(egui::Role::RadioButton, true, is_chosen, &label));
    response
}
