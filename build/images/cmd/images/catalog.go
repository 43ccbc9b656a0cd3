// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/antrea-oncache/antrea/test/env/kubecluster/images"

// definition says what is in an image.
type definition struct {
	// names are the image's names with tags. {PROGRAM} stands for the version of that program, {} for this project's.
	names []string
	// packages are the Debian packages that the image has besides the base layer's, which all images with a base share.
	base     bool
	packages []string
	// packagesFile names more of them. The image's Dockerfile also reads it.
	packagesFile string
	// overlay is a folder whose files take the places of the packages' files. Like packagesFile it is relative to the folder of images.
	overlay string
	// programs are files of the image, with the names of the programs that they are.
	programs map[string]string
	// files are small files, links are symbolic links.
	files, links    map[string]string
	entrypoint, cmd []string
	// ours is set for images that users install: they have licences, and labels that lead to the source.
	ours bool
}

// absent are packages that no image has although others depend on them: what only maintainer scripts, services of a whole system, or scripts for
// people use. Python and Perl alone would be larger than all the rest of the agent's image.
var absent = []string{
	"adduser", "cron", "debconf", "dpkg", "init-system-helpers", "libpam-modules", "libpam-runtime", "lsb-base", "openssl", "passwd", "perl", "perl-base",
	"python3", "python3-netifaces", "python3-openvswitch", "systemd", "sysvinit-utils", "tzdata", "ucf", "util-linux-extra",
}

// debugging are programs that tests run in Pods.
var debugging = []string{"bind9-dnsutils", "curl", "iproute2", "iputils-ping", "netbase", "netcat-openbsd", "wget"}

// wget is GNU's (busybox's of this release crashes with -T). It does not try again: a test that expects no answer would take a minute.
var wget = map[string]string{"etc/wgetrc": "tries = 1\n"}

// project are the images of an installation.
var project = map[string]definition{
	"antrea-agent-ubuntu": {
		names: []string{"ghcr.io/antrea-oncache/antrea-agent-ubuntu:latest", "ghcr.io/antrea-oncache/antrea-agent-ubuntu:{}"},
		base:  true, packagesFile: "agent/packages", overlay: "agent/rootfs", ours: true,
		programs: map[string]string{
			"usr/local/bin/antrea-agent": "antrea-agent",
			"usr/local/bin/antrea-cni":   "antrea-cni", "usr/local/bin/antctl": "antctl",
			"opt/cni/bin/host-local": "host-local", "opt/cni/bin/loopback": "loopback",
			"opt/cni/bin/portmap": "portmap", "opt/cni/bin/bandwidth": "bandwidth",
		},
	},
	"antrea-controller-ubuntu": {
		names:    []string{"ghcr.io/antrea-oncache/antrea-controller-ubuntu:latest", "ghcr.io/antrea-oncache/antrea-controller-ubuntu:{}"},
		base:     true,
		ours:     true,
		programs: map[string]string{"usr/local/bin/antrea-controller": "antrea-controller", "usr/local/bin/antctl": "antctl"},
	},
	"antrea-mc-controller": {
		names:    []string{"ghcr.io/antrea-oncache/antrea-mc-controller:latest", "ghcr.io/antrea-oncache/antrea-mc-controller:{}"},
		base:     true,
		ours:     true,
		programs: map[string]string{"usr/local/bin/antrea-mc-controller": "antrea-mc-controller"},
	},
}

// forTests are the images that upstream's suite names.
var forTests = map[string]definition{
	"agnhost": {
		// The first is from Antrea's tests, the second from the suites of hack/networkpolicyapi, the others from Kubernetes' own tests
		// (test/utils/image/manifest.go there).
		names: []string{
			images.Agnhost, "registry.k8s.io/e2e-test-images/agnhost:2.45", "registry.k8s.io/e2e-test-images/agnhost:2.55", "registry.k8s.io/e2e-test-images/agnhost:2.66.1",
		},
		base: true, packages: debugging,
		programs: map[string]string{"agnhost": "agnhost", "coredns": "coredns"},
		links:    map[string]string{"agnhost-2": "agnhost"},
		files:    wget,
		// Upstream's image has this entry point, and Pods give arguments to it.
		entrypoint: []string{"/agnhost"}, cmd: []string{"pause"},
	},
	"toolbox": {
		names:    []string{images.Toolbox},
		base:     true,
		packages: append([]string{"apache2-utils", "arping", "iperf3", "tcpdump"}, debugging...),
		programs: map[string]string{"pause": "pause"},
		files:    wget,
		cmd:      []string{"/pause"},
	},
	"nginx": {
		names: []string{images.Nginx},
		base:  true, packages: []string{"netbase", "netcat-openbsd", "nginx", "wget"},
		links: map[string]string{
			"etc/nginx/sites-enabled/default": "/etc/nginx/sites-available/default",
			"var/log/nginx/access.log":        "/dev/stdout", "var/log/nginx/error.log": "/dev/stderr",
		},
		files: map[string]string{
			"etc/wgetrc":              wget["etc/wgetrc"],
			"var/www/html/index.html": "<!DOCTYPE html>\n<title>nginx</title>\n<p>It works.</p>\n",
		},
		cmd: []string{"nginx", "-g", "daemon off;"},
	},
}

// forCluster are the images that a test cluster needs, and the file system of its Nodes (test/env/kubecluster).
var forCluster = map[string]definition{
	"kube-proxy": {
		names: []string{images.KubeProxy + ":{kube-proxy}"},
		base:  true, packages: []string{"conntrack", "ipset", "iptables", "kmod", "netbase", "nftables"},
		programs: map[string]string{"usr/local/bin/kube-proxy": "kube-proxy"},
	},
	"coredns": {
		names:      []string{images.CoreDNS + ":{coredns}"},
		programs:   map[string]string{"coredns": "coredns"},
		entrypoint: []string{"/coredns"},
	},
	"pause": {
		names:      []string{images.Pause, "registry.k8s.io/pause:3.10.2"},
		programs:   map[string]string{"pause": "pause"},
		entrypoint: []string{"/pause"},
	},
	"node": {
		names: []string{"antrea-oncache/node:{containerd}"},
		base:  true,
		packages: []string{
			// Antrea's tests run curl on Nodes, and most take one that is missing for an answer.
			"ca-certificates", "conntrack", "curl", "ethtool", "hostname", "iproute2", "ipset", "iptables", "iputils-ping", "kmod", "mount", "netbase", "nftables", "runc", "tcpdump",
			"util-linux",
		},
		programs: map[string]string{
			"usr/local/bin/containerd": "containerd", "usr/local/bin/containerd-shim-runc-v2": "containerd-shim-runc-v2", "usr/local/bin/ctr": "ctr",
		},
		files: map[string]string{"etc/hosts": "127.0.0.1 localhost\n::1 localhost\n", "etc/resolv.conf": ""},
	},
}
