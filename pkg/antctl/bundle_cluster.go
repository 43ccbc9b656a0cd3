// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"

	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/redact"
)

// clusterPage is the number of objects per request: no answer may exceed what antctl accepts.
const clusterPage = "500"

// clusterPaths are the lists, and the single objects, that describe a cluster. The user needs these rights.
var clusterPaths = []string{
	"/api/v1/nodes",
	"/api/v1/pods",
	"/apis/apps/v1/deployments",
	"/apis/apps/v1/daemonsets",
	"/apis/apps/v1/replicasets",
	"/apis/crd.antrea.io/v1beta1/antreaagentinfos",
	"/api/v1/namespaces/" + apis.DefaultNamespace + "/configmaps/antrea-config",
	"/api/v1/namespaces/" + apis.DefaultNamespace + "/configmaps/" + apis.ControllerCA,
	"/api/v1/namespaces/" + apis.DefaultNamespace + "/configmaps/antrea-cluster-identity",
}

// writeClusterInfo writes objects of the Kubernetes API as documents of YAML. What cannot be read is said there and in log: it is no
// failure, because it depends on the user's rights.
func writeClusterInfo(ctx context.Context, kubernetes *client, w, log io.Writer) error {
	clean := redact.NewWriter(w)
	for _, path := range clusterPaths {
		if _, err := fmt.Fprintf(clean, "---\n# %s\n", path); err != nil {
			return err
		}
		if err := writeObjects(ctx, kubernetes, path, clean); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			text := cleanText(fmt.Sprintf("not in the cluster information: %s: %v", path, err))
			_, logErr := fmt.Fprintln(log, text)
			if _, err := fmt.Fprintf(clean, "# %q\n", text); err != nil || logErr != nil {
				return errors.Join(err, logErr)
			}
		}
	}
	return clean.Flush()
}

// writeObjects writes an object, or a list page by page.
func writeObjects(ctx context.Context, kubernetes *client, path string, w io.Writer) error {
	for continued := ""; ; {
		query := url.Values{"limit": {clusterPage}}
		if continued != "" {
			query.Set("continue", continued)
		}
		ctx, cancel := context.WithTimeout(ctx, bundleRequestLimit)
		var object map[string]any
		err := kubernetes.getWith(ctx, path, query, &object)
		cancel()
		if err != nil {
			return err
		}
		continued = ""
		if meta, ok := object["metadata"].(map[string]any); ok {
			continued, _ = meta["continue"].(string)
		}
		text, err := yaml.Marshal(withoutSecrets(object))
		if err != nil {
			return err
		}
		if _, err := w.Write(append(text, "---\n"...)); err != nil {
			return err
		}
		if continued == "" {
			return nil
		}
	}
}

// withoutSecrets removes from an object what is never needed and may be secret: the values of environment variables, and the copy
// of the object that kubectl apply leaves in an annotation. Texts are examined here, because YAML breaks long ones into lines, which can
// part "--password" from its value.
func withoutSecrets(value any) any {
	switch value := value.(type) {
	case string:
		return string(redact.Text([]byte(value)))
	case []any:
		for i := range value {
			value[i] = withoutSecrets(value[i])
		}
	case map[string]any:
		delete(value, "managedFields")
		delete(value, "kubectl.kubernetes.io/last-applied-configuration")
		for key := range maps.Keys(value) {
			if variables, ok := value[key].([]any); ok && key == "env" {
				hideValues(variables)
			}
			value[key] = withoutSecrets(value[key])
		}
	}
	return value
}

func hideValues(variables []any) {
	for _, variable := range variables {
		if variable, ok := variable.(map[string]any); ok && variable["value"] != nil {
			variable["value"] = redact.Mark
		}
	}
}
