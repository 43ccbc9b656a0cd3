// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"
)

// TestCapabilitiesAreThoseOfTheChart compares them with the values of the chart. The controller's are not a value: it
// has none.
func TestCapabilitiesAreThoseOfTheChart(t *testing.T) {
	text, err := os.ReadFile("../../../../build/charts/antrea/values.yaml")
	require.NoError(t, err)
	type container struct {
		SecurityContext struct {
			Capabilities []string
		}
	}
	var values struct {
		Agent struct {
			AntreaAgent, AntreaOVS container
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.Equal(t, capabilities[agentContainer], values.Agent.AntreaAgent.SecurityContext.Capabilities)
	require.Equal(t, capabilities[ovsContainer], values.Agent.AntreaOVS.SecurityContext.Capabilities)

	text, err = os.ReadFile("../../../../build/charts/antrea/templates/controller/deployment.yaml")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ +capabilities:\n +drop: \[ALL\]\n`, string(text))
	require.Empty(t, capabilities[controllerContainer])
}

// numbers are the numbers of capabilities(7).
var numbers = map[string]int{
	"BPF": unix.CAP_BPF, "IPC_LOCK": unix.CAP_IPC_LOCK, "NET_ADMIN": unix.CAP_NET_ADMIN, "NET_RAW": unix.CAP_NET_RAW, "PERFMON": unix.CAP_PERFMON,
	"SYS_ADMIN": unix.CAP_SYS_ADMIN, "SYS_NICE": unix.CAP_SYS_NICE, "SYS_PTRACE": unix.CAP_SYS_PTRACE,
}

// isConfined requires that a program has the capabilities of the container and no other, and can get no other.
func isConfined(t *testing.T, container string, p *Process) {
	t.Helper()
	var want uint64
	for _, name := range capabilities[container] {
		require.Contains(t, numbers, name)
		want |= 1 << numbers[name]
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	require.NoError(t, err)
	sets := regexp.MustCompile(`(?m)^Cap(Prm|Eff|Bnd):\t([0-9a-f]+)$`).FindAllStringSubmatch(string(status), -1)
	require.Len(t, sets, 3)
	for _, set := range sets {
		has, err := strconv.ParseUint(set[2], 16, 64)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%#x", want), fmt.Sprintf("%#x", has), "%s: %s", container, set[0])
	}
}
