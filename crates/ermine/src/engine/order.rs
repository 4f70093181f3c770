//! The rows of a small subtree, ordered once by every numeric column.
//!
//! A node below must order some of these rows by a column. Each row has its own place in the order of the whole
//! subtree, so setting a bit at the places of the node's rows and reading the bits from left to right orders them:
//! O(rows + places / 64), no comparison. All of it stays in the near caches, which codes of a million rows do not.

use crate::{
    Feature,
    engine::columns::{Columns, MISSING},
};

/// Most rows of such a subtree: their places are small enough for the first-level cache.
pub const MOST: usize = 4096;
/// Fewest rows that are worth it.
pub const LEAST: usize = 64;

pub struct Order<'a> {
    columns: &'a Columns,
    /// Numbers of the rows in the columns; here they are counted from zero.
    pub rows: Vec<u32>,
    orders: Vec<Option<ColumnOrder>>,
}

pub struct ColumnOrder {
    /// Place of each row.
    place: Vec<u16>,
    /// Row and code at each place; the missing come last.
    row: Vec<u16>,
    code: Vec<u32>,
}

/// Bits of places, all zero between uses, and where each row stands in the node.
#[derive(Clone, Default)]
pub struct Marks {
    bits: Vec<u64>,
    at: Vec<u16>,
}

impl<'a> Order<'a> {
    /// `rows` in the order in which the node that is the root holds them.
    pub fn new(columns: &'a Columns, rows: &[u32], keys: &mut Vec<u64>, spare: &mut Vec<u64>) -> Self {
        let mut one = |codes: &[u32], distinct: usize| {
            keys.clear();
            // The code of the missing is the largest: as one more than the others it needs no more digits.
            let last = distinct as u64;
            keys.extend(
                rows.iter().enumerate().map(|(i, &row)| u64::from(codes[row as usize]).min(last) << 32 | i as u64),
            );
            sort(keys, spare, distinct + 1);
            let mut place = vec![0; rows.len()];
            keys.iter().enumerate().for_each(|(at, &key)| place[key as u32 as usize] = at as u16);
            let code = |key: u64| if key >> 32 == last { MISSING } else { (key >> 32) as u32 };
            ColumnOrder {
                place,
                row: keys.iter().map(|&key| key as u16).collect(),
                code: keys.iter().map(|&key| code(key)).collect(),
            }
        };
        let number = |feature: Feature| matches!(feature, Feature::Number);
        let orders = columns.columns.iter();
        let orders = orders.map(|c| number(c.feature).then(|| one(&c.codes, c.end()))).collect();
        Order { columns, rows: rows.to_vec(), orders }
    }

    pub fn column(&self, j: usize) -> Option<&ColumnOrder> {
        self.orders[j].as_ref()
    }

    pub fn code(&self, j: usize, row: u32) -> u32 {
        match &self.orders[j] {
            Some(order) => order.code[order.place[row as usize] as usize],
            None => self.columns.columns[j].codes[self.rows[row as usize] as usize],
        }
    }
}

impl Marks {
    /// Takes up the rows of a node.
    pub fn load(&mut self, order: &Order, rows: &[u32]) {
        let all = order.rows.len();
        self.bits.resize(all.div_ceil(64), 0);
        self.at.resize(all, 0);
        rows.iter().enumerate().for_each(|(i, &row)| self.at[row as usize] = i as u16);
    }
}

impl ColumnOrder {
    /// The rows of a node, which `marks` has loaded, by code: `code << 32 | place in the node`. The missing are put
    /// apart.
    pub fn arrange(&self, rows: &[u32], marks: &mut Marks, keys: &mut Vec<u64>, missing: &mut Vec<u32>) {
        const FEW: usize = 12;
        keys.clear();
        missing.clear();
        if rows.len() <= FEW {
            keys.extend(rows.iter().map(|&row| u64::from(self.place[row as usize])));
            keys.sort_unstable();
            let mut known = 0;
            for i in 0..keys.len() {
                let place = keys[i] as usize;
                let (code, i) = (self.code[place], u32::from(marks.at[self.row[place] as usize]));
                if code == MISSING {
                    missing.push(i);
                } else {
                    keys[known] = u64::from(code) << 32 | u64::from(i);
                    known += 1;
                }
            }
            keys.truncate(known);
            return;
        }
        let (mut first, mut last) = (usize::MAX, 0);
        for &row in rows {
            let place = self.place[row as usize] as usize;
            marks.bits[place / 64] |= 1 << (place % 64);
            (first, last) = (first.min(place / 64), last.max(place / 64));
        }
        for word in first..=last {
            let mut bits = std::mem::take(&mut marks.bits[word]);
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let (code, i) = (self.code[place], u32::from(marks.at[self.row[place] as usize]));
                if code == MISSING {
                    missing.push(i);
                } else {
                    keys.push(u64::from(code) << 32 | u64::from(i));
                }
            }
        }
    }
}

/// Sorts by the upper half, whose values are below `range`: by digits where there are many, by comparison where there
/// are few.
pub fn sort(keys: &mut Vec<u64>, spare: &mut Vec<u64>, range: usize) {
    const DIGIT: u32 = 9;
    if keys.len() < 1024 {
        keys.sort_unstable();
        return;
    }
    let bits = usize::BITS - (range - 1).leading_zeros();
    spare.resize(keys.len(), 0);
    for pass in 0..bits.div_ceil(DIGIT) {
        let digit = |key: u64| (key >> (32 + pass * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut starts = [0u32; 1 << DIGIT];
        keys.iter().for_each(|&key| starts[digit(key)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            (*start, sum) = (sum, sum + *start);
        }
        for &key in keys.iter() {
            let at = &mut starts[digit(key)];
            spare[*at as usize] = key;
            *at += 1;
        }
        std::mem::swap(keys, spare);
    }
}
