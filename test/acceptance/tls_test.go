// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// setKey gives a key of a configuration file a value. The key must be at the beginning of a line.
func setKey(t *testing.T, file, key, value string) string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + key + `:.*$`)
	require.Regexp(t, line, file)
	return line.ReplaceAllString(file, key+": "+value)
}

func TestAntreaApiserverTLSConfig(t *testing.T) {
	c := suite
	c.test(t, "ControllerApiserver", func(t *testing.T) { c.testTLS(t, controllerLabels, controllerPort) })
	c.test(t, "AgentApiserver", func(t *testing.T) { c.testTLS(t, agentLabels, agentPort) })
}

// testTLS configures one cipher suite and a lowest version, and tries others.
func (c *cluster) testTLS(t *testing.T, _ string, port int) {
	c.configure(t, func(files map[string]string) {
		for _, key := range []string{agentConfigKey, controllerConfigKey} {
			files[key] = setKey(t, files[key], "tlsCipherSuites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
			files[key] = setKey(t, files[key], "tlsMinVersion", "VersionTLS12")
		}
	})
	client := c.pod(t, c.namespace(t), "client", c.nodes[0], podOptions{hostNetwork: true})
	host := c.hostOf(t, port)
	connects := func(args ...string) (bool, string) {
		command := append([]string{"curl", "-sSkv", "-o", "/dev/null", fmt.Sprintf("https://%s:%d/livez", host, port)}, args...)
		_, stderr, err := c.run(t.Context(), client, "", command...)
		return err == nil, stderr
	}
	for _, tt := range []struct {
		want bool
		args []string
	}{
		{true, []string{"--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"}},
		{false, []string{"--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-GCM-SHA384"}},
		{false, []string{"--tlsv1.0", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"}},
		{true, []string{"--tlsv1.3"}}, // its cipher suites cannot be chosen
	} {
		got, said := connects(tt.args...)
		require.Equalf(t, tt.want, got, "curl %v: %s", tt.args, said)
	}
}

// hostOf is the address of the Node on which the component with the port runs.
func (c *cluster) hostOf(t *testing.T, port int) string {
	t.Helper()
	if port == agentPort {
		return c.agentOn(t, c.nodes[0]).Status.HostIP
	}
	return c.controllerPod(t).Status.HostIP
}

func TestOpenAPISchema(t *testing.T) {
	suite.test(t, "schema", suite.testOpenAPI)
}

// testOpenAPI: the API server's description of all APIs, aggregated ones included, can be read, and each reference in it leads somewhere.
func (c *cluster) testOpenAPI(t *testing.T) {
	data, err := c.client.Discovery().RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(t.Context())
	require.NoError(t, err)
	var schema struct {
		Definitions map[string]any `json:"definitions"`
		Parameters  map[string]any `json:"parameters"`
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	require.NotEmpty(t, schema.Definitions)
	for _, ref := range regexp.MustCompile(`"\$ref": ?"([^"]*)"`).FindAllStringSubmatch(string(data), -1) {
		if name, found := strings.CutPrefix(ref[1], "#/parameters/"); found {
			require.Contains(t, schema.Parameters, name)
			continue
		}
		name, found := strings.CutPrefix(ref[1], "#/definitions/")
		require.True(t, found, ref[1])
		require.Contains(t, schema.Definitions, name)
	}
}
