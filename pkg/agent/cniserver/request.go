// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"strings"

	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"
	"k8s.io/apimachinery/pkg/util/validation"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

type command string

const (
	cmdAdd   command = "ADD"
	cmdCheck command = "CHECK"
	cmdDel   command = "DEL"
)

// The CNI_ARGS keys by which container runtimes name the Pod of a sandbox.
const (
	argPodName      = "K8S_POD_NAME"
	argPodNamespace = "K8S_POD_NAMESPACE"
)

// request is a checked request.
type request struct {
	containerID string
	// netns is the runtime's path; it can be "" in DEL only.
	netns  string
	ifname string
	args   string
	path   string
	// podName, podNamespace and hostInterface are "" in a DEL that does not name the Pod.
	podName       string
	podNamespace  string
	hostInterface string
	conf          *networkConfig
}

// parseRequest checks a request of the command. Its errors carry a CNI code, see parseNetworkConfig; missing or invalid
// values of the environment are code 4.
func parseRequest(cmd command, in *cnipb.CniCmdRequest) (*request, error) {
	invalid := cnipb.ErrorCode_INVALID_ENVIRONMENT_VARIABLES
	if in.GetContainerId() == "" {
		return nil, errorf(invalid, "CNI_CONTAINERID is missing")
	}
	if err := utils.ValidateContainerID(in.GetContainerId()); err != nil {
		return nil, errorf(invalid, "CNI_CONTAINERID %q: %s", in.GetContainerId(), err.Msg)
	}
	if in.GetIfname() == "" {
		return nil, errorf(invalid, "CNI_IFNAME is missing")
	}
	if err := utils.ValidateInterfaceName(in.GetIfname()); err != nil {
		return nil, errorf(invalid, "CNI_IFNAME %q: %s", in.GetIfname(), err.Msg)
	}
	if in.GetNetns() == "" && cmd != cmdDel {
		return nil, errorf(invalid, "CNI_NETNS is missing, %s needs the path of a network namespace", cmd)
	}
	args, err := parseArgs(in.GetArgs())
	if err != nil {
		return nil, err
	}
	req := &request{
		containerID:  in.GetContainerId(),
		netns:        in.GetNetns(),
		ifname:       in.GetIfname(),
		args:         in.GetArgs(),
		path:         in.GetPath(),
		podName:      args[argPodName],
		podNamespace: args[argPodNamespace],
	}
	if cmd != cmdDel || req.podName != "" {
		if problems := validation.IsDNS1123Subdomain(req.podName); len(problems) > 0 {
			return nil, errorf(invalid, "%s %q in CNI_ARGS is not the name of a Pod: %s", argPodName, req.podName, problems[0])
		}
		req.hostInterface = HostInterfaceName(req.podName, req.containerID, req.ifname)
	}
	if cmd != cmdDel || req.podNamespace != "" {
		if problems := validation.IsDNS1123Label(req.podNamespace); len(problems) > 0 {
			return nil, errorf(invalid, "%s %q in CNI_ARGS is not a namespace: %s", argPodNamespace, req.podNamespace, problems[0])
		}
	}
	if req.conf, err = parseNetworkConfig(cmd, in.GetNetworkConfiguration()); err != nil {
		return nil, err
	}
	return req, checkCommandVersion(cmd, req.conf)
}

// checkCommandVersion applies the rules of CHECK: it exists since CNI 0.4.0 and needs the result of ADD.
func checkCommandVersion(cmd command, conf *networkConfig) error {
	if cmd != cmdCheck {
		return nil
	}
	if ok, err := version.GreaterThanOrEqualTo(conf.cniVersion, "0.4.0"); err != nil || !ok {
		return errorf(cnipb.ErrorCode_INCOMPATIBLE_CNI_VERSION, "cniVersion %q does not have CHECK, want 0.4.0 or later", conf.cniVersion)
	}
	if conf.prevResult == nil {
		return errorf(cnipb.ErrorCode_INVALID_NETWORK_CONFIG, "prevResult is missing in network %q, CHECK needs it", conf.name)
	}
	return nil
}

// parseArgs splits CNI_ARGS, "KEY=VALUE;KEY=VALUE". Unknown keys are kept: the runtime sets IgnoreUnknown.
func parseArgs(args string) (map[string]string, error) {
	parsed := map[string]string{}
	for pair := range strings.SplitSeq(args, ";") {
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, errorf(cnipb.ErrorCode_INVALID_ENVIRONMENT_VARIABLES, "CNI_ARGS has %q, want KEY=VALUE pairs separated by semicolons", pair)
		}
		parsed[key] = value
	}
	return parsed, nil
}
