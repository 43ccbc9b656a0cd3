// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/supportbundle/bundletest"
)

func TestSupportBundleController(t *testing.T) {
	c := suite
	c.test(t, "testSupportBundle", func(t *testing.T) {
		c.testSupportBundle(t, c.controllerPod(t), "controller", map[string]string{
			"controllerinfo": "kind: AntreaControllerInfo", "networkpolicies": "name: support-bundle\n", "antrea-controller.conf": "featureGates:",
		})
	})
}

func TestSupportBundleAgent(t *testing.T) {
	c := suite
	c.test(t, "testSupportBundle", func(t *testing.T) {
		files := map[string]string{
			"agentinfo": "name: " + c.nodes[1] + "\n", "networkpolicies": "name: support-bundle\n", "antrea-agent.conf": "featureGates:",
			"flows": "table=Classifier", "ovsports": gateway, "ovsdb/Bridge": bridge, "datapath/show": gateway, "address": gateway,
			"iptables": "ANTREA-", "ipset": "ANTREA-", "conntrack": "zone=",
		}
		if c.gate {
			files["oncache"], files["oncache-endpoints"] = "mode: enforce", "support-bundle"
		}
		c.testSupportBundle(t, c.agentOn(t, c.nodes[1]), "agent", files)
	})
}

// testSupportBundle makes a component collect a support bundle, with the token that its Pod has, and looks into it. files has parts of the
// contents of files.
func (c *cluster) testSupportBundle(t *testing.T, component *corev1.Pod, name string, files map[string]string) {
	namespace := c.namespace(t)
	// An isolated Pod that has sent something: a policy, an endpoint of the cache, and a connection are known.
	c.isolated(t, namespace, "support-bundle")
	b := &bundleAPI{c: c, client: c.pod(t, namespace, "client", component.Spec.NodeName, podOptions{hostNetwork: true})}
	b.token = strings.TrimSpace(c.exec(t, component, "", "cat", apis.LoopbackTokenFile))
	b.url = fmt.Sprintf("https://127.0.0.1:%d%s", component.Spec.Containers[0].Ports[0].HostPort, v1beta1.SupportBundlePath)

	// The collection of a former client.
	b.request(t, "-X", "DELETE", b.url+"/"+name)
	require.Equal(t, v1beta1.SupportBundleStatusNone, b.bundle(t, name).Status)
	wanted := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, v1beta1.SchemeGroupVersion, v1beta1.SupportBundleKind, name)
	b.request(t, "-X", "POST", "-H", "Content-Type: application/json", "-d", wanted, b.url)
	var collected v1beta1.SupportBundle
	eventually(t, bundleTimeout, func() error {
		if collected = b.bundle(t, name); collected.Status != v1beta1.SupportBundleStatusCollected {
			return fmt.Errorf("the status of the support bundle is %s, want %s", collected.Status, v1beta1.SupportBundleStatusCollected)
		}
		return nil
	})
	archive := b.request(t, b.url+"/"+name+"/"+v1beta1.SupportBundleDownload)
	sum := sha256.Sum256([]byte(archive))
	require.Equal(t, collected.Sum, hex.EncodeToString(sum[:]))
	require.Len(t, archive, int(collected.Size))
	b.inspect(t, archive, files)

	b.request(t, "-X", "DELETE", b.url+"/"+name)
	require.Equal(t, v1beta1.SupportBundleStatusNone, b.bundle(t, name).Status)
	_, _, err := b.c.run(t.Context(), b.client, "", b.curl(b.url+"/"+name+"/"+v1beta1.SupportBundleDownload)...)
	require.Error(t, err, "the bundle is gone")
}

// testClusterBundle collects a file of each component with antctl, from outside of them.
func (c *cluster) testClusterBundle(t *testing.T) {
	const directory = "/tmp/bundle"
	pod := c.antctlPod(t, "antctl", antctlRole, podOptions{hostNetwork: true, command: []string{"sleep", "3600"}})
	c.exec(t, pod, "", "antctl", "supportbundle", "-d", directory)
	want := []string{"clusterinfo", "controller.tar.gz"}
	for _, node := range c.nodes {
		want = append(want, "agent_"+node+".tar.gz")
	}
	require.ElementsMatch(t, want, strings.Fields(c.exec(t, pod, "", "ls", "-A", directory)))
	for _, name := range want[1:] {
		files := bundletest.Unpack(t, strings.NewReader(c.exec(t, pod, "", "cat", directory+"/"+name)))
		require.Contains(t, files["manifest.yaml"], "component: "+strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' })[0])
	}
	require.Contains(t, c.exec(t, pod, "", "cat", directory+"/clusterinfo"), c.nodes[0])
}

// isolated makes a Pod on the second Node to which only this Namespace's Pods may connect, by a policy of the same name, and connects to it.
func (c *cluster) isolated(t *testing.T, namespace, name string) {
	t.Helper()
	server := c.pod(t, namespace, name, c.nodes[1], podOptions{image: nginxImage, labels: nginxPods.MatchLabels})
	client := c.pod(t, namespace, "peer", c.nodes[0], podOptions{})
	c.policy(t, namespace, name, networkingv1.NetworkPolicySpec{
		PodSelector: nginxPods,
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	})
	c.waitRealized(t, namespace, name)
	c.connects(t, client, server.Status.PodIP, 80)
}

// bundleAPI is the API of support bundles at url, as a client Pod on the component's Node uses it.
type bundleAPI struct {
	c          *cluster
	client     *corev1.Pod
	url, token string
}

func (b *bundleAPI) curl(args ...string) []string {
	return append([]string{"curl", "-sSkf", "-H", "Authorization: Bearer " + b.token}, args...)
}

// request returns the answer to a request that must succeed.
func (b *bundleAPI) request(t *testing.T, args ...string) string {
	t.Helper()
	return b.c.exec(t, b.client, "", b.curl(args...)...)
}

func (b *bundleAPI) bundle(t *testing.T, name string) (bundle v1beta1.SupportBundle) {
	t.Helper()
	answer := b.request(t, b.url+"/"+name)
	require.NoError(t, json.Unmarshal([]byte(answer), &bundle), answer)
	return bundle
}

// inspect checks that a bundle is complete, that files have certain contents, and that nothing has the token.
func (b *bundleAPI) inspect(t *testing.T, archive string, files map[string]string) {
	t.Helper()
	content := bundletest.Unpack(t, strings.NewReader(archive))
	for name, part := range files {
		require.Contains(t, content[name], part, name)
	}
	for name, text := range content {
		require.NotContains(t, text, b.token, name)
	}
	var manifest struct {
		Files []struct {
			Name, Error string
			Truncated   bool
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(content["manifest.yaml"]), &manifest))
	var listed []string
	for _, f := range manifest.Files {
		listed = append(listed, f.Name)
		off := !b.c.gate && (f.Name == "oncache" || f.Name == "oncache-mode") // the file says so
		if !off {
			require.Empty(t, f.Error, f.Name)
		}
		require.False(t, f.Truncated, f.Name)
	}
	for name := range files {
		require.Contains(t, listed, name)
	}
}
