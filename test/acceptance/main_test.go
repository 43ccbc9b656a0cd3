// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// suite is the cluster for all tests of this package; nil if there is none.
var suite *cluster

func TestMain(m *testing.M) {
	if os.Getenv("KUBECONFIG") == "" {
		fmt.Println("acceptance: no cluster (KUBECONFIG is not set): make acceptance starts one")
		os.Exit(0)
	}
	var err error
	if suite, err = open(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
	code := m.Run()
	fmt.Println(suite.tally.line(suite.gate))
	os.Exit(code)
}
