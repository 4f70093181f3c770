// Everything there is to watch, in the order of the course.
import { CLUSTER } from "./cluster.js";
import { LINEAR } from "./linear.js";
import { REGIONS } from "./regions.js";
import { TREES } from "./trees.js";

/** @type {import("../types").Stop[]} */
export const STOPS = [...LINEAR, ...REGIONS, ...TREES, ...CLUSTER];
