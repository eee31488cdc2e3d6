//! Questions at the terminal about a tree conflict.
//!
//! What is recommended is tried before anything is asked. Where a move may lead to several locations, one of them
//! can be chosen first.

use sapwood_client::resolver::{Resolution, TreeConflict};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::Invocation;
use super::notify::{ConflictKind, display_below};
use super::questions::{Questions, Verdict, breaks_line, option_list};
use super::tree_options::{Offer, offers};
use super::tree_words::describe;
use crate::question::ask_openly;

/// The other possible answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    ChoosePlace,
    ChooseNode,
    Help,
    Quit,
}

/// All answers: code, label, what it does, and the argument of `--accept`.
struct Menu {
    offers: Vec<Offer>,
    extras: Vec<(Extra, &'static str, &'static str, &'static str)>,
    places: Vec<RelPathBuf>,
    nodes: Vec<RelPathBuf>,
}

impl Menu {
    fn of(conflict: &TreeConflict<'_>) -> Self {
        let offers = offers(conflict);
        let choice = offers.iter().any(|offer| offer.resolution.follows_move());
        let owned = |all: &[&RelPath]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let (mut places, mut nodes) = (Vec::new(), Vec::new());
        if choice {
            places = owned(&conflict.choosable_places());
            nodes = conflict.choosable_nodes().to_vec();
        }
        let mut extras = Vec::new();
        if places.len() > 1 {
            extras.push((
                Extra::ChoosePlace,
                "d",
                "Set repository move destination path",
                "pick repository move target from list of possible targets",
            ));
        }
        if nodes.len() > 1 {
            extras.push((
                Extra::ChooseNode,
                "w",
                "Set working copy move destination path",
                "pick working copy move target from list of possible targets",
            ));
        }
        extras.push((Extra::Help, "h", "Help", "show this help (also '?')"));
        extras.push((Extra::Quit, "q", "Quit resolution", "postpone all remaining conflicts"));
        Self { offers, extras, places, nodes }
    }

    /// Whether there is nothing better than to take what is here.
    fn is_dumb(&self) -> bool {
        let dumb = [Resolution::Postpone, Resolution::AcceptCurrent];
        self.offers.iter().all(|offer| dumb.contains(&offer.resolution))
    }

    fn question(&self) -> String {
        let offers = self.offers.iter().map(|offer| (offer.code, offer.label));
        breaks_line(offers.chain(self.extras.iter().map(|(_, code, label, _)| (*code, *label))))
    }

    fn list(&self) -> String {
        let offers = self.offers.iter().map(|o| (o.code, o.does.as_str(), o.accept));
        let extras = self.extras.iter().map(|(_, code, _, does)| (*code, *does, ""));
        option_list(offers.chain(extras))
    }
}

fn is_worth_asking(error: &SvnError) -> bool {
    let cause = error.chain().last().map_or_else(|| error.code(), SvnError::code);
    [
        ErrorCode::WC_CONFLICT_RESOLVER_FAILURE,
        ErrorCode::WC_OBSTRUCTED_UPDATE,
        ErrorCode::WC_FOUND_CONFLICT,
    ]
    .contains(&cause)
}

impl Questions<'_> {
    /// Asks about the tree conflict of the node.
    pub(super) fn ask_tree(&self, described: &mut bool) -> SvnResult<Verdict> {
        let found = TreeConflict::of(self.ctx, self.knowledge, self.wc, self.relpath)?;
        let Some(mut conflict) = found else { return Ok(Verdict::Settled) };
        conflict.find_details()?;
        let mut description = describe(&conflict)?;
        if !*described {
            let shown = self.display_path(self.relpath);
            self.say(&format!("Tree conflict on '{shown}':\n{description}\n"))?;
        }
        let mut menu = Menu::of(&conflict);
        if self.settles_as_recommended(&menu, &mut conflict)? {
            return Ok(Verdict::Settled);
        }
        if menu.is_dumb() {
            self.say(
                "\nSubversion is not smart enough to resolve this tree conflict automatically!\nSee \
                 'svn help resolve' for more information.\n\n",
            )?;
        }
        let (mut chosen_place, mut chosen_node) = (false, false);
        loop {
            self.warn_of_ambiguity([
                ("the repository", 'd', !chosen_place && menu.places.len() > 1),
                ("the working copy", 'w', !chosen_node && menu.nodes.len() > 1),
            ])?;
            let given = ask_openly(&menu.question())?;
            *described = true;
            if let Some(offer) = menu.offers.iter().find(|offer| offer.code == given) {
                if offer.resolution == Resolution::Postpone {
                    return Ok(Verdict::Postponed);
                }
                conflict.resolve(offer.resolution)?;
                note_settled(self.inv, &conflict);
                return Ok(Verdict::Settled);
            }
            let extra = menu.extras.iter().find(|(_, code, ..)| *code == given).map(|e| e.0);
            match extra.or((given == "?").then_some(Extra::Help)) {
                Some(Extra::Quit) => return Ok(Verdict::Quit),
                Some(Extra::Help) => {
                    self.say(&format!("\n{description}\n\n{}\n", menu.list()))?;
                }
                Some(Extra::ChoosePlace) => {
                    let places: Vec<String> =
                        menu.places.iter().map(|p| format!("^/{p}")).collect();
                    conflict.choose_place(self.choose_target("repository", &places)?);
                    (chosen_place, chosen_node) = (true, false);
                    menu = Menu::of(&conflict);
                    description = describe(&conflict)?;
                }
                Some(Extra::ChooseNode) => {
                    conflict.choose_node(self.choose_target("working copy", &menu.nodes)?);
                    chosen_node = true;
                    menu = Menu::of(&conflict);
                }
                None => self.say("Unrecognized option.\n\n")?,
            }
        }
    }

    /// Tries what is recommended: false when there is something to ask.
    fn settles_as_recommended(
        &self,
        menu: &Menu,
        conflict: &mut TreeConflict<'_>,
    ) -> SvnResult<bool> {
        let recommended = menu.offers.iter().find(|o| Some(o.resolution) == conflict.recommended);
        let Some(offer) = recommended else { return Ok(false) };
        self.inv.out.text(&format!("Applying recommended resolution '{}':\n", offer.label))?;
        match conflict.resolve(offer.resolution) {
            Ok(()) => {
                note_settled(self.inv, conflict);
                Ok(true)
            }
            Err(error) if is_worth_asking(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Says where a move may have gone to several places, and which option chooses one.
    fn warn_of_ambiguity(&self, ambiguous: [(&str, char, bool); 2]) -> SvnResult<()> {
        for (place, code, _) in ambiguous.into_iter().filter(|(_, _, is)| *is) {
            self.inv.out.text(&format!(
                "Ambiguous move destinations exist in {place}; try the '{code}' option\n"
            ))?;
        }
        self.inv.out.flush()
    }

    /// Asks for one of several targets until there is an answer.
    fn choose_target(&self, whose: &str, targets: &[impl std::fmt::Display]) -> SvnResult<usize> {
        let mut list = String::new();
        for (number, target) in (1u64..).zip(targets) {
            list.push_str(&format!(" ({number}): '{target}'\n"));
        }
        let question = format!(
            "Possible {whose} destinations for moved-away '{}' are:\n{list}Only one destination can be a \
             move; the others are copies.\nSpecify the correct move target path by number: ",
            self.relpath
        );
        loop {
            let given = ask_openly(&question)?;
            let number = given.trim().parse::<usize>().ok();
            let at = number.and_then(|number| number.checked_sub(1));
            match at.filter(|at| *at < targets.len()) {
                Some(at) => return Ok(at),
                None => self.say(&wrong_number(&given, targets.len()))?,
            }
        }
    }
}

/// Counts a tree conflict as resolved, whether that was reported or not.
pub(super) fn note_settled(inv: &Invocation, conflict: &TreeConflict<'_>) {
    let here = inv.ctx.here.to_string_lossy();
    let shown = display_below(&here, &conflict.wc.abspath(&conflict.relpath).to_string_lossy());
    inv.notifier.stats().borrow_mut().resolve(ConflictKind::Tree, &shown);
}

fn wrong_number(given: &str, most: usize) -> String {
    if given.trim().parse::<i64>().is_ok() {
        return format!("Number '{given}' is out of range '[1, {most}]'\n");
    }
    format!("Could not convert '{given}' into a number\n")
}
