// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command licences writes the licences of all modules that are linked into programs:
//
//	licences FILE PROGRAM...
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"

	"github.com/antrea-oncache/antrea/build/images/licences"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "licences FILE PROGRAM...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// run leaves no file behind that is not complete.
func run(file string, programs []string) error {
	modules, err := licences.Linked(cmp.Or(os.Getenv("GO"), "go"), programs)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := licences.Write(&text, modules); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
