// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutants puts faults into this project, one at a time, and fails unless a suite finds each of them.
//
//	mutants [-only PREFIX] FILE...    runs the mutants of each file whose names begin with PREFIX
//	mutants -check FILE...            only checks that the files fit the sources
//
// A suite has its mutants in a file mutants.txt beside it. Lines are "key: value", or "-" and "+" with text; a line that begins with a blank
// continues the value before it, and "#" begins a comment. Settings apply to all mutants below them:
//
//	once    is a command that runs before the first mutant
//	build   is a command that builds the programs in a copy of the repository that contains the fault
//	run     is a command that runs the suite. If it succeeds, the fault was not found.
//	found   is a regular expression that the output of a failed run must match. Its groups, or the whole match, are printed.
//	        Several consecutive ones must all match.
//	clean   says, if it is "yes", that the suite must first pass without any fault
//	with    is the variable WITH of the commands
//
// A mutant follows them. Its first place in the file that contains the text of the "-" lines gets the text of the "+" lines instead:
//
//	mutant: ended Pods
//	in: pkg/controller/networkpolicy/pod.go
//	- source.Status.Phase == corev1.PodSucceeded
//	+ false
//
// Mutants whose places are inside Go functions share one build: each of these functions has a body for each of its mutants in addition, and a variable
// of the environment decides which body runs. Such a mutant counts as found only if its place was reached. Each other mutant (constants, variables
// of packages, functions with labels, C) is built alone, after these. A mutant without a file is a fault that the suite makes itself, by its name.
//
// Commands are for bash; once and run run in the repository. They find in their environment: OUT (a directory for programs), FRESH (an empty
// directory for each command), MUTANT (its name; not in build) and WITH.
//
// Files: parse.go (the text format), tree.go (the copy of the repository), combine.go (the mutants that share a build), run.go (commands and verdicts).
package main
