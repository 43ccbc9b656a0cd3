// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// short formats a number of at least 0 in at most five characters.
func short(v float64) string {
	if v > 0 && v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	for _, unit := range []string{"", "k", "M", "G"} {
		switch {
		case unit != "" && v < 9.995:
			return fmt.Sprintf("%.2f%s", v, unit)
		case unit != "" && v < 99.95:
			return fmt.Sprintf("%.1f%s", v, unit)
		case v < 999.5:
			return fmt.Sprintf("%.0f%s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.0fT", v)
}

func perSecond(v float64) string { return short(v) + "/s" }

// percent is the share of part, "-" if there is nothing.
func percent(part, rest float64) string {
	if part+rest == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*part/(part+rest))
}

// sum adds the rates of both directions by reason.
func sum(a, b map[string]float64) map[string]float64 {
	all := maps.Clone(a)
	for name, v := range b {
		all[name] += v
	}
	return all
}

// reasons lists rates, the highest first.
func reasons(rates map[string]float64) string {
	names := slices.Sorted(maps.Keys(rates))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case rates[a] > rates[b]:
			return -1
		case rates[a] < rates[b]:
			return 1
		}
		return 0
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = strings.ReplaceAll(name, "_", " ") + " " + perSecond(rates[name])
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
