// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
)

// suite is the cluster for all tests of this package; nil if there is none.
var suite *cluster

func TestMain(m *testing.M) {
	kubeconfig := os.Getenv("ACCEPTANCE_KUBECONFIG")
	if kubeconfig == "" {
		fmt.Println("acceptance: no cluster (ACCEPTANCE_KUBECONFIG is not set): make acceptance starts one; only what needs none is tested")
		flag.Parse()
		if err := flag.Set("test.run", "^Test(UpstreamCases|Labels|JUnit|JUnitSuite)$"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	flag.Parse()
	err := selectCases()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(2)
	}
	if suite, err = open(context.Background(), kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
	if slowness > 1 {
		fmt.Printf("acceptance: all time limits are multiplied by %d (ACCEPTANCE_SLOWNESS)\n", slowness)
	}
	code := m.Run()
	suite.tally.addSuite(code)
	if *junitFlag != "" {
		if err := suite.tally.writeJUnit(*junitFlag); err != nil {
			fmt.Fprintln(os.Stderr, "acceptance: -junit:", err)
			code = max(code, 1)
		}
	}
	fmt.Println(suite.tally.line(suite.gate))
	os.Exit(code)
}
