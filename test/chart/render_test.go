// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	controllerconfig "github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

const (
	root     = "../.."
	chartDir = root + "/build/charts/antrea"
	// manifestFile is the chart with its defaults, for kubectl apply.
	manifestFile = root + "/build/yamls/antrea.yml"
	// cleanupFile cleans the Nodes up when Antrea has been uninstalled.
	cleanupFile = root + "/build/yamls/antrea-cleanup.yml"
)

var decoder = func() runtime.Decoder {
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	utilruntime.Must(apiextensionsv1.AddToScheme(types))
	utilruntime.Must(apiregistrationv1.AddToScheme(types))
	// Strict: unknown and repeated fields are errors.
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
}()

// helm runs the program that make chart-test has built.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	require.NotEmpty(t, program, "the environment variable HELM has the path of helm: run make chart-test")
	cmd := exec.Command(program, args...)
	// Nothing of the user's own configuration of Helm.
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), err
}

func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"template", "antrea", chartDir, "--namespace", "kube-system", "--include-crds"}, args...)...)
}

// objects are the chart's objects, by "Kind name".
type objects map[string]runtime.Object

// render renders the chart with arguments of helm template and decodes each object.
func render(t *testing.T, args ...string) objects {
	t.Helper()
	text, err := template(t, args...)
	require.NoError(t, err)
	return decode(t, text)
}

func decode(t *testing.T, text string) objects {
	t.Helper()
	all := objects{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, string(document))
		accessor, err := meta.Accessor(object)
		require.NoError(t, err)
		key := kind.Kind + " " + accessor.GetName()
		require.NotContains(t, all, key)
		require.Equal(t, "antrea", accessor.GetLabels()["app"], key)
		all[key] = object
	}
}

// get returns one of the objects in its type.
func get[T runtime.Object](t *testing.T, all objects, key string) T {
	t.Helper()
	require.Contains(t, all, key)
	object, ok := all[key].(T)
	require.True(t, ok, "%s is %T", key, all[key])
	return object
}

// files are the configuration files in the ConfigMap, read as agent and controller read them.
type files struct {
	agentText, controllerText, conflist string

	agent      *agentconfig.AgentConfig
	controller *controllerconfig.ControllerConfig
	onCache    bool
}

// configuration reads the configuration files and fails if a component would refuse its file.
func configuration(t *testing.T, all objects) files {
	t.Helper()
	data := get[*corev1.ConfigMap](t, all, "ConfigMap antrea-config").Data
	require.Len(t, data, 3)
	f := files{agentText: data["antrea-agent.conf"], controllerText: data["antrea-controller.conf"], conflist: data["antrea-cni.conflist"]}
	var err error
	f.agent, err = agentconfig.Parse([]byte(f.agentText))
	require.NoError(t, err, f.agentText)
	flags := gateFlags(t, get[*appsv1.DaemonSet](t, all, "DaemonSet antrea-agent").Spec.Template.Spec.Containers[0].Args)
	gates, err := features.New(config.Merge(f.agent.FeatureGates, flags))
	require.NoError(t, err)
	require.NoError(t, f.agent.Validate(gates))
	f.onCache = gates.Enabled(features.ONCache)
	f.controller, err = controllerconfig.Parse([]byte(f.controllerText))
	require.NoError(t, err, f.controllerText)
	require.NoError(t, controllerconfig.UnknownKeys([]byte(f.controllerText)))
	gates, err = features.New(f.controller.FeatureGates)
	require.NoError(t, err)
	require.NoError(t, f.controller.Validate(gates))
	return f
}

// gateFlags are the feature gates in a program's arguments.
func gateFlags(t *testing.T, args []string) map[string]bool {
	t.Helper()
	gates := map[string]bool{}
	for _, arg := range args {
		if gate, found := strings.CutPrefix(arg, "--feature-gates="); found {
			name, value, _ := strings.Cut(gate, "=")
			on, err := strconv.ParseBool(value)
			require.NoError(t, err, arg)
			gates[name] = on
		}
	}
	return gates
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(path))
	require.NoError(t, err)
	return string(text)
}

func TestLint(t *testing.T) {
	out, err := helm(t, "lint", "--strict", chartDir, "--namespace", "kube-system")
	require.NoError(t, err, out)
}

// TestManifest: make manifest has been run after the last change of the chart.
func TestManifest(t *testing.T) {
	text, err := template(t)
	require.NoError(t, err)
	require.True(t, text == read(t, manifestFile), "build/yamls/antrea.yml is not what the chart renders: run make manifest")
	text, err = helm(t, "template", "antrea", chartDir, "--namespace", "kube-system", "--set", "cleanup.enable=true", "--show-only", "templates/cleanup/daemonset.yaml")
	require.NoError(t, err)
	require.True(t, text == read(t, cleanupFile), "build/yamls/antrea-cleanup.yml is not what the chart renders: run make manifest")
}
