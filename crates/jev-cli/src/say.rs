//! What is said on standard output and standard error. A reader that went away is no failure: `println!` and
//! `eprintln!` would panic, and take a run, its outcome or its cancellation with them.

/// A line on standard output.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

/// A line on standard error.
macro_rules! aside {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}
