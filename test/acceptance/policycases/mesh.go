// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pair is a connection of a mesh, between Pods such as "x/a" and "z/c".
type Pair struct{ From, To string }

// Mesh returns the results that the connections between all Pods must have. Connections of a Pod to itself are not among them: no policy denies them.
func (s Step) Mesh(pods []string) (map[Pair]string, error) {
	mesh := map[Pair]string{}
	for _, from := range pods {
		for _, to := range pods {
			if from != to {
				mesh[Pair{from, to}] = cmp.Or(s.Default, Connected)
			}
		}
	}
	for _, want := range s.Want {
		pairs, result, ok := strings.Cut(want, ": ")
		from, to, ok2 := strings.Cut(pairs, " > ")
		if !ok || !ok2 || !slices.Contains([]string{Connected, Dropped, Rejected}, result) {
			return nil, fmt.Errorf("%q must be like x/a > y,z/*: %s", want, Dropped)
		}
		matched := false
		for pair := range mesh {
			if matches(from, pair.From) && matches(to, pair.To) {
				mesh[pair], matched = result, true
			}
		}
		if !matched {
			return nil, fmt.Errorf("%q matches no pair of %v", want, pods)
		}
	}
	return mesh, nil
}

// matches reports whether a pattern such as "x,y/a" or "*/c" matches a Pod.
func matches(pattern, pod string) bool {
	patterns, names := strings.Split(pattern, "/"), strings.Split(pod, "/")
	for i := range patterns {
		if alternatives := strings.Split(patterns[i], ","); i >= len(names) || patterns[i] != "*" && !slices.Contains(alternatives, names[i]) {
			return false
		}
	}
	return len(patterns) == len(names)
}

// Unacknowledged reports whether a step has changes that no status confirms, so that a connection may still have the former result for a moment.
func (s Step) Unacknowledged() bool {
	return slices.ContainsFunc(s.Do, func(c Change) bool {
		return c.Apply == nil && c.Pod == nil || c.Apply != nil && !c.Apply.Kind.HasStatus() && c.Apply.Kind != Tier
	})
}
