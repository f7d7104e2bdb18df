//! scratch
use arenascope_app::launch::{LaunchSettings, render_to_file};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let launch = LaunchSettings { read: Default::default(), prepare: Default::default(), strategy: a.get(6).cloned().unwrap_or("auto".into()), solve: Default::default(), time_limit: None };
    let (w, h) = a[4].split_once('x').unwrap();
    let t = std::time::Instant::now();
    if a[1] == "welcome" {
        use arenascope_app::{launch::{render_document, Document, theme_named}, export::Picture, state::Settings};
        render_document(&Document::Welcome, &Picture { settings: Settings { theme: theme_named(&a[3]).unwrap(), ..Default::default() }, view: "window".into(), size: (w.parse().unwrap(), h.parse().unwrap()) }, std::path::Path::new(&a[5])).unwrap();
    } else {
        render_to_file(std::path::Path::new(&a[1]), &launch, &a[2], (w.parse().unwrap(), h.parse().unwrap()), &a[3], std::path::Path::new(&a[5])).unwrap();
    }
    println!("{:?}", t.elapsed());
}
