// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

func TestTraceHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"":                           `{"transportHeader":{}}`,
		"icmp":                       `{"ipHeader":{"protocol":1},"transportHeader":{}}`,
		"tcp,tcp_dst=80":             `{"ipHeader":{"protocol":6},"transportHeader":{"tcp":{"dstPort":80}}}`,
		"tcp_src=9, tcp_flags=0x10":  `{"ipHeader":{"protocol":6},"transportHeader":{"tcp":{"srcPort":9,"flags":16}}}`,
		"ipv6,udp,udp_dst=53":        `{"ipv6Header":{"nextHeader":17},"transportHeader":{"udp":{"dstPort":53}}}`,
		"ipv6":                       `{"ipv6Header":{},"transportHeader":{}}`,
		"icmpv6":                     `{"ipv6Header":{"nextHeader":58},"transportHeader":{}}`,
		"ipv6,icmp":                  `{"ipv6Header":{"nextHeader":58},"transportHeader":{}}`,
		"ip,udp,udp_src=1,udp_dst=2": `{"ipHeader":{"protocol":17},"transportHeader":{"udp":{"srcPort":1,"dstPort":2}}}`,
	} {
		var p v1beta1.Packet
		require.NoError(t, parseTraceHeaders(text, &p), text)
		got, err := json.Marshal(p)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), text)
	}
	for text, want := range map[string]string{
		"tcp,udp":           "two protocols",
		"tcp,udp_dst=1":     "fields of another protocol",
		"udp,tcp_dst=1":     "fields of another protocol",
		"tcp_dst=1,udp_dst": `"" is not a value`,
		"tcp_dst=65536":     "allowed: 0 to 65535",
		"tcp_flags=256":     "allowed: 0 to 255",
		"nw_src=10.0.0.1":   "unknown field; allowed: ip, ipv6",
	} {
		require.ErrorContains(t, parseTraceHeaders(text, &v1beta1.Packet{}), want, text)
	}
}

func TestTraceNames(t *testing.T) {
	require.Regexp(t, `^ns1-pod1-to-fd00--1-[a-z0-9]{8}$`, traceName(&traceOptions{source: "ns1/pod1", destination: "fd00::1"}))
	require.Regexp(t, `^any-to-pod-[a-z0-9]{8}$`, traceName(&traceOptions{destination: "pod"}))
	namespace, name, err := splitName("--source", "pod")
	require.NoError(t, err)
	require.Equal(t, []string{"default", "pod"}, []string{namespace, name})
	for _, text := range []string{"/", "ns/", "/pod", "a/b/c"} {
		_, _, err := splitName("--source", text)
		require.ErrorContains(t, err, "--source: ")
	}
}

func TestTraceflowRefusals(t *testing.T) {
	for want, args := range map[string][]string{
		`unsupported format "table"`:          {"-S", "a", "-D", "b", "-o", "table"},
		"--dropped-only needs --live-traffic": {"-S", "a", "-D", "b", "--dropped-only"},
		"finding the Kubernetes API":          {"-S", "a", "-D", "b", "-k", "/nonexistent"},
	} {
		_, _, err := run(Environment{Mode: ModeController}, "", append([]string{"traceflow"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}

// A refusal says so if no Traceflow is possible, and nothing else if the CRD is there.
func TestMissingCRD(t *testing.T) {
	for kind, missing := range map[string]bool{"AntreaAgentInfo": true, v1beta1.TraceflowKind: false} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Error(w, "refused", http.StatusNotFound)
				return
			}
			require.Equal(t, "/apis/crd.antrea.io/v1beta1", r.URL.Path)
			require.NoError(t, json.NewEncoder(w).Encode(metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: kind}}}))
		}))
		defer s.Close()
		_, _, err := run(Environment{Mode: ModeController}, "", "traceflow", "-S", "a", "-D", "10.10.1.20", "-k", kubeconfigFor(t, s))
		require.ErrorContains(t, err, "making Traceflow a-to-10.10.1.20-")
		require.Equal(t, missing, strings.Contains(err.Error(), "is the CRD traceflows.crd.antrea.io installed?"), err)
	}
}
