// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"errors"

	"github.com/spf13/cobra"
)

// absentCommands are Antrea's commands of features that this version does not have. They answer as Antrea's do when the feature
// is off, because those who collect information with antctl expect that answer.
var absentCommands = []struct {
	group Group
	use   string
	modes []Mode
}{
	{Flat, "trace-packet", []Mode{ModeAgent}},
	{Get, "bgppeers", []Mode{ModeAgent}},
	{Get, "bgppolicy", []Mode{ModeAgent}},
	{Get, "bgproutes", []Mode{ModeAgent}},
	{Get, "podmulticaststats", []Mode{ModeAgent}},
}

// newAbsent makes a command that says that its feature is not enabled, whatever the arguments and flags are.
func newAbsent(use string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: "Not part of this version", Hidden: true,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New(use + " is not enabled")
		},
	}
}
