//! The tree as lines: each entry's children and its depth.

use wb_session::{Node, Session};

/// The entries of a log, parents before their children.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// The number of entries in each subtree, its root included.
    sizes: Vec<usize>,
    /// Indicates for each entry that it is on the path to the leaf.
    pub(crate) on_path: Vec<bool>,
    pub(crate) leaf: Option<usize>,
}

/// An entry's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The entry's place among the nodes of the graph.
    pub(crate) at: usize,
    /// The number of branches to its left that continue below.
    pub(crate) depth: usize,
    /// Indicates that a branch begins with it.
    pub(crate) is_start: bool,
}

impl Graph {
    pub(crate) fn new(session: &Session) -> Self {
        let walk = session.tree().walk();
        let (mut roots, mut children, mut parents) = (Vec::new(), vec![Vec::new(); walk.len()], Vec::new());
        let mut above: Vec<usize> = Vec::new();
        for (at, (depth, _)) in walk.iter().enumerate() {
            above.truncate(*depth);
            parents.push(above.last().copied());
            above.last().map_or(&mut roots, |parent| &mut children[*parent]).push(at);
            above.push(at);
        }
        let nodes: Vec<Node> = walk.into_iter().map(|(_, node)| node).collect();
        let leaf = session.leaf().and_then(|id| session.tree().node(id));
        let leaf = leaf.and_then(|leaf| nodes.iter().position(|node| node.line == leaf.line));
        let mut on_path = vec![false; nodes.len()];
        let mut next = leaf;
        while let Some(at) = next {
            on_path[at] = true;
            next = parents[at];
        }
        Self { sizes: sizes(&parents), nodes, children, roots, on_path, leaf }
    }

    /// Returns how many entries no other follows.
    pub(crate) fn n_branches(&self) -> usize {
        self.children.iter().filter(|children| children.is_empty()).count()
    }

    /// Returns how many roots name a parent, which is then not above them.
    pub(crate) fn n_lost(&self) -> usize {
        self.roots.iter().filter(|at| self.nodes[**at].parent_id.is_some()).count()
    }

    /// Returns the lines in the order in which they are drawn.
    ///
    /// Of an entry's children, the one on the path to the leaf, or else the one with the largest
    /// subtree, continues below it and comes last; the others branch to the right. Except next to
    /// the path, a branch has at most half the entries of its parent, so the depth is at most the
    /// logarithm of the number of entries.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.nodes.len());
        let mut open = Vec::new();
        self.open_all(&self.roots, 0, &mut open);
        while let Some(row) = open.pop() {
            rows.push(row);
            self.open_all(&self.children[row.at], row.depth, &mut open);
        }
        rows
    }

    fn open_all(&self, followers: &[usize], depth: usize, open: &mut Vec<Row>) {
        let main = followers.iter().copied().max_by_key(|at| (self.on_path[*at], self.sizes[*at]));
        open.extend(main.map(|at| Row { at, depth, is_start: false }));
        let others = followers.iter().rev().filter(|at| Some(**at) != main);
        open.extend(others.map(|at| Row { at: *at, depth: depth + 1, is_start: true }));
    }
}

fn sizes(parents: &[Option<usize>]) -> Vec<usize> {
    let mut sizes = vec![1; parents.len()];
    for at in (0..parents.len()).rev() {
        if let Some(parent) = parents[at] {
            sizes[parent] += sizes[at];
        }
    }
    sizes
}

impl Row {
    /// Returns the lines of the branches to the left of the entry.
    pub(crate) fn rails(self) -> String {
        match self.depth {
            0 => String::new(),
            depth if self.is_start => "│ ".repeat(depth - 1) + "├─",
            depth => "│ ".repeat(depth),
        }
    }
}
