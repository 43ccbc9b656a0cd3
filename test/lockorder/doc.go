// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lockorder finds, without running the programs, which lock may be waited for while which other lock is held, and fails on
// a cycle: two goroutines that take these locks from two ends wait for each other forever.
//
// A lock is a field (type and name), a package's variable or a function's. Locks are sync.Mutex, sync.RWMutex (reading counts like
// writing: a waiting writer stops further readers), sync.Once while its function runs, channels of a type called turn, and
// the channels in channelLocks. All instances of a field are one lock; where two are certainly not the same, allowed in the
// test has the reason.
//
// The analysis follows, path by path, in functions as the compiler sees them (golang.org/x/tools/go/ssa):
//   - the region from Lock to Unlock, also by defer; a lock that was not taken is not held; what TryLock takes is held, but
//     never waited for;
//   - calls, through an interface to all implementations in the program, through a function value to all functions that may have got there (go/callgraph/vta), such as callbacks in fields;
//   - functions that return with a lock held, functions that release a lock of their caller (also if they are returned,
//     such as an unlock function), and goroutines that are handed a lock;
//   - functions that are given to a library, as if it called them at once (except laterCalls).
//
// What it does not see:
//   - locks of libraries, and methods of values that libraries got as an empty interface, such as String;
//   - waits for anything else: a channel, a WaitGroup, a condition;
//   - an order that is kept by the instance, such as by key;
//   - methods that nothing in the program reaches;
//   - function values that no code in the program provides. Such a call is reported, and must be in the test's list, if the
//     function that makes it holds a lock itself, but not if only its caller does; so must a lock that
//     has no name, such as one that is passed as a parameter.
package lockorder
