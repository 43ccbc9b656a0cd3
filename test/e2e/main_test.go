// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// quick is set when tests that transfer a lot of data may transfer less.
var quick = os.Getenv("E2E_QUICK") == "1"

// all is set by `make suite S=e2e-all`, which also runs the areas that `make test` skips to save time.
var all = os.Getenv("E2E_ALL") == "1"

// printer shows the progress; tests on an emulated machine take minutes.
var printer = progress.New(os.Stderr)

// onlyArea is the environment variable with the name of the one area that `make e2e` runs.
const onlyArea = "E2E_AREA"

// areasRun counts the areas that have been run. Areas run one after the other.
var areasRun int

func TestMain(m *testing.M) {
	// Programs that are started in a Node are looked up here.
	if bin := os.Getenv("TESTBED_BIN"); bin != "" {
		if err := os.Setenv("PATH", bin+":"+os.Getenv("PATH")); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if area := os.Getenv(onlyArea); code == 0 && area != "" && areasRun == 0 {
		fmt.Fprintf(os.Stderr, "e2e: this suite has no area %s, see matrix_test.go, families_test.go, modes_test.go, mode_matrix_test.go and wireguard_test.go\n", area)
		code = 1
	}
	os.Exit(code)
}
