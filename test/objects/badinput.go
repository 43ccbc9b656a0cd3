// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/test/policy"
)

// badRequest is an invalid CNI request, for a container that no other request names.
func badRequest(rng *rand.Rand, i int, world *policy.World) *bad {
	in := &cnipb.CniCmdRequest{
		ContainerId: fmt.Sprintf("bad-%d-1-%d", i, 100+i), Ifname: "eth0", Netns: "/nowhere",
		Args: fmt.Sprintf("K8S_POD_NAMESPACE=%s;K8S_POD_NAME=bad-%d", world.Pods[0].Namespace, i),
	}
	conf := func(version, prevResult string) []byte {
		return fmt.Appendf(nil, `{"cniVersion":%q,"name":"antrea","type":"antrea","ipam":{"type":"host-local"},"prevResult":%s}`, version, prevResult)
	}
	version := pick(rng, "0.3.1", "0.4.0", "1.0.0")
	in.NetworkConfiguration = pick(rng,
		conf(version, `{"cniVersion":"`+version+`","interfaces":[null]}`), conf(version, `{"cniVersion":"`+version+`","ips":[null]}`),
		conf(version, `{"cniVersion":"`+version+`","routes":[null],"dns":null}`), conf(version, `{"cniVersion":"`+version+`","ips":[{"address":null,"interface":-7}]}`),
		conf(version, `null`), conf(version, `[]`), conf("", `{}`), conf("7.0.0", `{}`), nil, []byte("null"), []byte("[]"), []byte(`{"cniVersion":"1.0.0","name":"antrea","ipam":null}`),
		[]byte(strings.Repeat("[", 1<<16)), []byte("\x00"), []byte(`{"cniVersion":"1.0.0","name":"antrea","type":"antrea","ipam":{"type":"host-local","ranges":null},"mtu":-1}`),
		[]byte(`{"cniVersion":"1.0.0","name":"../..","type":"antrea","ipam":{"type":"host-local"}}`),
	)
	switch rng.IntN(8) {
	case 0:
		in.Args = pick(rng, "", ";;;", "K8S_POD_NAME", "K8S_POD_NAME=..;K8S_POD_NAMESPACE=/", "=", strings.Repeat("A=B;", 10000))
	case 1:
		in.ContainerId = pick(rng, "", "../..", strings.Repeat("c", 100000), "a b")
	case 2:
		in.Ifname = pick(rng, "", "..", strings.Repeat("e", 16), "a/b", "eth0:1")
	case 3:
		in.Netns = pick(rng, "", "/proc/1/ns/net", "/dev/null", "/proc/self/ns/net")
	}
	which := rng.IntN(3)
	return &bad{Kind: "request", What: fmt.Sprintf("%s with %.100q", []string{"ADD", "CHECK", "DEL"}[which], in.NetworkConfiguration), request: func(w *World) error {
		for _, h := range w.hosts {
			if h.agent == nil {
				continue
			}
			do := []command{h.cni.CmdAdd, h.cni.CmdCheck, h.cni.CmdDel}[which]
			if err := ask(do, in); errors.Is(err, errPanic) {
				w.incident("a request to %s: %v", h.name(), err)
			}
		}
		return nil
	}}
}

// badFile is damage to the files of a store, done while no agent runs.
func badFile(rng *rand.Rand, _ int, _ *policy.World) *bad {
	type spoiler struct {
		what string
		do   func(path string, content []byte) error
	}
	write := func(text string) func(string, []byte) error {
		return func(path string, _ []byte) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	s := pick(rng,
		spoiler{"is cut", func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o600) }},
		spoiler{"is empty", write("")}, spoiler{"is garbage", write("\x00\xff{")}, spoiler{"is null", write("null")}, spoiler{"is an empty object", write("{}")},
		spoiler{"is a list", write("[]")}, spoiler{"has a member that is null", write(`{"metadata":{"name":"x"},"groupMembers":[null],"rules":[null]}`)},
		spoiler{"has another name inside", func(path string, content []byte) error {
			return os.WriteFile(path, []byte(strings.ReplaceAll(string(content), filepath.Base(path), "another")), 0o600)
		}},
		spoiler{"is gone", func(path string, _ []byte) error { return os.Remove(path) }},
		spoiler{"is a directory", func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
		spoiler{"is a link to itself", func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) }},
	)
	number, folder := 1+rng.IntN(2), pick(rng, "network-policies", "address-groups", "applied-to-groups", "applied-to-groups")
	if s.what == "is gone" {
		folder = "applied-to-groups" // a policy without its file is unknown
	}
	if rng.IntN(6) == 0 {
		number = 1000
	}
	return &bad{Kind: "file", What: fmt.Sprintf("of %s %s (up to %d files)", folder, s.what, number), damage: func(w *World, h *host) error {
		w.damaged[h.name()] = true
		var paths []string
		err := filepath.WalkDir(filepath.Join(h.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, path)
			}
			return err
		})
		slices.Sort(paths)
		for n := 0; n < number && n < len(paths); n++ {
			content, readErr := os.ReadFile(paths[n])
			err = errors.Join(err, readErr, s.do(paths[n], content))
		}
		return err
	}}
}
