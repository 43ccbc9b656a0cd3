// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// corefile serves the names in /zone/hosts. Arguments: TTL in seconds.
const corefile = `. {
	hosts /zone/hosts {
		ttl %d
		reload 200ms
	}
	errors
}
`

// zone is a DNS server of the tests, instead of the Internet.
type zone struct {
	c   *cluster
	pod *corev1.Pod
}

// zone makes a DNS server in a Namespace.
func (c *cluster) zone(t *testing.T, namespace string, ttl int, names map[string]string) *zone {
	t.Helper()
	script := fmt.Sprintf("mkdir -p /zone && printf '%%s' '%s' >/zone/Corefile && touch /zone/hosts && exec /coredns -conf /zone/Corefile", fmt.Sprintf(corefile, ttl))
	z := &zone{c: c, pod: c.pod(t, namespace, "dns", c.nodes[1], podOptions{
		image: agnhostImage, command: []string{"/bin/bash", "-c"}, args: []string{script}, labels: map[string]string{"app": "dns"},
	})}
	z.set(t, names)
	return z
}

// set replaces the names and waits until the server has them.
func (z *zone) set(t *testing.T, names map[string]string) {
	t.Helper()
	var lines strings.Builder
	for name, address := range names {
		fmt.Fprintf(&lines, "%s %s\n", address, name)
	}
	z.c.exec(t, z.pod, "", "/bin/bash", "-c", "printf '%s' \"$1\" >/zone/new && mv /zone/new /zone/hosts", "set", lines.String())
	eventually(t, policyDelay, func() error {
		for name, address := range names {
			if got := z.c.lookup(t, z.pod, name, "@127.0.0.1"); got != address {
				return fmt.Errorf("%s is %s, want %s", name, got, address)
			}
		}
		return nil
	})
}

// lookup returns what dig finds.
func (c *cluster) lookup(t *testing.T, from *corev1.Pod, name string, options ...string) string {
	t.Helper()
	stdout, _, _ := c.run(t.Context(), from, "", append([]string{"dig", "+short", "+time=2", "+tries=2", name}, options...)...)
	return strings.TrimSpace(stdout)
}

// resolvers adds Pods to a bed that ask a zone.
func (b *policyBed) resolvers(t *testing.T, z *zone, names ...string) {
	t.Helper()
	for _, name := range names {
		namespace, short, _ := strings.Cut(name, "/")
		b.pods[name] = b.c.pod(t, b.namespaces[namespace], short, b.c.nodes[0], podOptions{
			image: agnhostImage, resolver: z.pod.Status.PodIP, labels: map[string]string{"pod": short},
		})
		t.Cleanup(func() { b.remove(t, name) })
	}
}

// names is a step with connections to names, by their results.
func names(from string, want map[string]string) (s policycases.Step) {
	s.NoMesh, s.Protocol = true, policycases.Name
	for _, name := range slices.Sorted(maps.Keys(want)) {
		s.Probes = append(s.Probes, policycases.Probe{From: from, To: name, Want: want[name]})
	}
	return s
}

// testFQDN: names and patterns, in any case. Upstream asks the Internet for the names.
func (b *policyBed) testFQDN(t *testing.T) {
	z := b.c.zone(t, b.c.namespace(t), 60, map[string]string{
		"docs.github.com": b.pods["y/a"].Status.PodIP, "api.github.com": b.pods["y/b"].Status.PodIP, "wayfair.com": b.pods["y/c"].Status.PodIP,
		"stackoverflow.com": b.pods["z/a"].Status.PodIP, "facebook.com": b.pods["z/b"].Status.PodIP,
	})
	b.resolvers(t, z, "x/resolver")
	policies := func(rules string) policycases.Object {
		return policycases.Object{Kind: policycases.ACNP, Name: "test-acnp-fqdn", Spec: "{priority: 1, appliedTo: [{podSelector: {}}], egress: [" + rules + "]}"}
	}
	all := policycases.Case{Steps: []policycases.Step{names("x/resolver", map[string]string{
		"docs.github.com": policycases.Rejected, "api.github.com": policycases.Rejected, "wayfair.com": policycases.Dropped,
		"stackoverflow.com": policycases.Dropped, "facebook.com": policycases.Connected,
	})}}
	policy := policies(`{action: Reject, to: [{fqdn: "*github.com"}]}, {action: Drop, to: [{fqdn: wayfair.com}]}, {action: Drop, to: [{fqdn: Stackoverflow.com}]}`)
	all.Steps[0].Do = []policycases.Change{{Apply: &policy}}
	b.run(t, all)
}

// testFQDNInCluster: a name of a headless Service leads to its Pods, and the answer of DNS does not overtake the rule.
func (b *policyBed) testFQDNInCluster(t *testing.T) {
	service := policycases.Object{Kind: policycases.Service, Namespace: "x", Name: "ipv4-svc", Spec: "{clusterIP: None, selector: {app: a}, ports: [{port: 80}]}"}
	b.mustApply(t, service)
	name := "ipv4-svc." + b.namespaces["x"] + ".svc.cluster.local"
	for _, from := range []string{"y/b", "z/c", "x/c"} {
		eventually(t, podTimeout, func() error {
			got := b.try(t, []attempt{b.attempt(from, name+".", 80, policycases.Name, policycases.Connected, name)})[0]
			if got != policycases.Connected {
				return fmt.Errorf("%s to %s: %s", from, name, got)
			}
			return nil
		})
	}
	policy := func(from, action string) policycases.Change {
		namespace, pod, _ := strings.Cut(from, "/")
		return policycases.Change{Apply: &policycases.Object{
			Kind: policycases.ACNP, Name: "test-acnp-fqdn-" + strings.ToLower(action),
			Spec: fmt.Sprintf(`{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: %s}}, namespaceSelector: {matchLabels: {ns: "${%s}"}}}], egress: [{action: %s, to: [{fqdn: %q}]}]}`,
				pod, namespace, action, name),
		}}
	}
	s := policycases.Step{Do: []policycases.Change{policy("y/b", "Reject"), policy("z/c", "Drop")}, NoMesh: true, Protocol: policycases.Name}
	for from, want := range map[string]string{"y/b": policycases.Rejected, "z/c": policycases.Dropped, "x/c": policycases.Connected} {
		s.Probes = append(s.Probes, policycases.Probe{From: from, To: name + ".", Want: want})
	}
	b.run(t, policycases.Case{Steps: []policycases.Step{s}})
}

// testFQDNTCP: the rule also follows an answer over TCP.
func (b *policyBed) testFQDNTCP(t *testing.T) {
	z := b.c.zone(t, b.c.namespace(t), 60, map[string]string{"github.com": b.pods["y/a"].Status.PodIP})
	b.resolvers(t, z, "x/resolver")
	policy := policycases.Object{
		Kind: policycases.ACNP, Name: "test-acnp-fqdn-tcp", Spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: resolver}}}], egress: [{action: Drop, to: [{fqdn: github.com}]}]}`,
	}
	b.change(t, []policycases.Change{{Apply: &policy}})
	address := b.c.lookup(t, b.pods["x/resolver"], "github.com", "+tcp")
	require.Equal(t, b.pods["y/a"].Status.PodIP, address)
	b.check(t, policycases.Step{NoMesh: true, Probes: []policycases.Probe{{From: "x/resolver", To: address, Want: policycases.Dropped}}}, networkPolicyDelay)
}

// testMinTTL: an address that a name no longer has stays allowed for as long as its answer lived, and at least for the configured time.
func (c *cluster) testMinTTL(t *testing.T, minimum time.Duration) {
	const ttl = 5
	b := c.policyBed(t, t, []policycases.Pod{{Namespace: "x", Name: "a", Node: 1}, {Namespace: "x", Name: "b", Node: 0}}, nil)
	addresses := [2]string{b.pods["x/a"].Status.PodIP, b.pods["x/b"].Status.PodIP}
	z := c.zone(t, b.namespaces["x"], ttl, map[string]string{"fqdn-test-pod.lfx.test": addresses[0]})
	service := c.service(t, b.namespaces["x"], "dns", 53, 53, func(s *corev1.ServiceSpec) { s.Ports[0].Protocol = corev1.ProtocolUDP })
	c.configure(t, func(files map[string]string) {
		edit(t, files, agentConfigKey, map[string]any{"dnsServerOverride": service.Spec.ClusterIP, "fqdnCacheMinTTL": int(minimum.Seconds())})
	})
	b.resolvers(t, z, "x/resolver")
	client := b.pods["x/resolver"]
	policy := policycases.Object{
		Kind: policycases.ANNP, Namespace: "x", Name: "test-annp-fqdn",
		Spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: resolver}}}], egress: [
			{action: Allow, to: [{fqdn: fqdn-test-pod.lfx.test}], ports: [{protocol: TCP, port: 80}]},
			{action: Allow, to: [{podSelector: {matchLabels: {app: dns}}}], ports: [{protocol: UDP, port: 53}]},
			{action: Reject, ports: [{protocol: TCP}]}]}`,
	}
	b.change(t, []policycases.Change{{Apply: &policy}})
	curl := func(to string) error {
		_, stderr, err := c.run(t.Context(), client, "", "curl", "-sS", "--max-time", seconds(2), "-o", "/dev/null", "http://"+to)
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
		return nil
	}
	var asked time.Time // at the latest the time of the answer
	eventually(t, networkPolicyDelay, func() error {
		asked = time.Now()
		return curl("fqdn-test-pod.lfx.test:80")
	})
	z.set(t, map[string]string{"fqdn-test-pod.lfx.test": addresses[1]})
	eventually(t, networkPolicyDelay, func() error { return curl("fqdn-test-pod.lfx.test:80") })
	require.NoError(t, curl(addresses[1]+":80"))
	for time.Since(asked) < minimum-time.Second {
		if err := curl(addresses[0] + ":80"); time.Since(asked) < minimum { // otherwise it may have come too late
			require.NoError(t, err, "the former address, %s after the answer", time.Since(asked))
		}
		time.Sleep(pollInterval)
	}
	eventually(t, limit(10*time.Second), func() error {
		if curl(addresses[0]+":80") == nil {
			return fmt.Errorf("the former address is still allowed, %s after the answer", time.Since(asked))
		}
		return nil
	})
}

// edit sets keys of a configuration file.
func edit(t *testing.T, files map[string]string, file string, keys map[string]any) {
	t.Helper()
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(files[file]), &content))
	maps.Copy(content, keys)
	written, err := yaml.Marshal(content)
	require.NoError(t, err)
	files[file] = string(written)
}
