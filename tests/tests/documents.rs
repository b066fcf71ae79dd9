//! What the documents point at exists.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Targets of the Markdown links `[…](target)` that lead to files.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|t| t.split(')').next());
    targets
        .filter(|t| !t.contains("://") && !t.starts_with('#'))
        .map(|t| t.split('#').next().unwrap_or(t))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut documents = vec![root().join("README.md"), root().join("data/README.md")];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        documents.extend(
            entries
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "md")),
        );
    }
    let mut followed = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let target = document.parent().unwrap().join(link);
            assert!(target.exists(), "{}: {link}", document.display());
            followed += 1;
        }
    }
    assert!(followed >= 5, "only {followed} links were found");
}

#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() < 150);
}

#[test]
fn what_modules_cite_is_in_the_references() {
    let references = fs::read_to_string(root().join("docs/references.md")).unwrap();
    let mut found = 0;
    for file in sources(&root().join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        let comments: String = text
            .lines()
            .filter_map(|l| l.trim_start().strip_prefix("//"))
            .map(|l| l.trim_start_matches(['/', '!']).to_owned() + " ")
            .collect();
        for (name, year) in citations(&comments) {
            // The last author's name and the year stand together in a key.
            let known = references
                .lines()
                .any(|l| l.contains(&format!("{name} {year}.")));
            assert!(known, "{}: {name} {year}", file.display());
            found += 1;
        }
    }
    assert!(found > 20, "only {found} citations were found");
}

/// `Name 1986` in running text; words that are no authors are left out.
fn citations(text: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .windows(2)
        .filter_map(|pair| {
            let name = pair[0].trim_start_matches('(');
            let plain = name.chars().all(char::is_alphabetic);
            let author = plain && name.len() > 1 && name.starts_with(char::is_uppercase);
            let year = year(pair[1])?;
            author.then_some((name, year))
        })
        .collect()
}

/// The year that a word begins with, where nothing but punctuation follows.
fn year(word: &str) -> Option<&str> {
    let (digits, rest) = word.split_at_checked(4)?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    let ends = rest
        .trim_end_matches(['.', ',', ';', ':', ')', '!'])
        .is_empty();
    (plain && ends && ("1950".."2030").contains(&digits)).then_some(digits)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}
