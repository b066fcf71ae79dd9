//! Bars and spinners on stderr, for people who wait longer than a second.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::out;

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    Quiet,
    Normal,
    Verbose,
}

impl Talk {
    /// A warning: said unless `--quiet`.
    pub fn warn(self, text: &str) {
        if self != Self::Quiet {
            out::say(&format!("warning: {text}"));
        }
    }

    /// Shows that `name` is being done, for as long as the returned value lives.
    pub fn spinner(self, name: impl Into<Cow<'static, str>>) -> Activity {
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
        Activity::new(self, name.into(), 0, style.ok())
    }

    /// A bar over `total` units; `rate` says how units per second are shown.
    pub fn bar(self, name: &'static str, total: u64, rate: fn(f64) -> String) -> Activity {
        let style =
            ProgressStyle::with_template("{msg} {bar:32} {percent:>3} %  {rate}  ETA {eta}")
                .ok()
                .map(|style| {
                    style.with_key(
                        "rate",
                        move |state: &ProgressState, w: &mut dyn std::fmt::Write| {
                            // A rate that cannot be shown is left out.
                            let _ = w.write_str(&rate(state.per_sec()));
                        },
                    )
                });
        Activity::new(self, name.into(), total, style)
    }
}

/// Something that is being done.
pub struct Activity {
    name: Cow<'static, str>,
    talk: Talk,
    began: Instant,
    bar: ProgressBar,
    /// Dropped to end the thread that waits to show the bar.
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Activity {
    fn new(talk: Talk, name: Cow<'static, str>, total: u64, style: Option<ProgressStyle>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_message(name.clone());
        if let Some(style) = style {
            bar.set_style(style);
        }
        let shown = talk != Talk::Quiet && std::io::stderr().is_terminal();
        let waiting = shown.then(|| show_later(bar.clone())).flatten();
        Self {
            name,
            talk,
            began: Instant::now(),
            bar,
            waiting,
        }
    }

    /// Moves the bar.
    pub fn set(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// Ends the activity and returns its seconds.
    pub fn done(self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.waiting.take() {
            drop(sender);
            // The thread only draws; if it panicked there is nothing to be saved.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
        if self.talk == Talk::Verbose {
            let secs = out::secs(self.began.elapsed().as_secs_f64());
            out::say(&format!("{}: {secs}", self.name));
        }
    }
}

/// Shows the bar if it still exists after a second; not where the system refuses the thread for it.
fn show_later(bar: ProgressBar) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, receiver) = channel();
    let show = move || {
        if receiver.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    };
    let thread = std::thread::Builder::new().spawn(show).ok()?;
    Some((sender, thread))
}
