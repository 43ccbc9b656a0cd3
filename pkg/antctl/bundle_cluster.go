// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// writeClusterInfo writes objects of the Kubernetes API as YAML documents. Objects that cannot be read are noted there
// and in log, without an error: it depends on the user's rights.
func writeClusterInfo(ctx context.Context, kubernetes *client, w, log io.Writer) error {
	for _, path := range clusterPaths {
		if _, err := fmt.Fprintf(w, "---\n# %s\n", path); err != nil {
			return err
		}
		if err := writeObjects(ctx, kubernetes, path, w); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			text := cleanText(string(redact.Text(fmt.Appendf(nil, "not in the cluster information: %s: %v", path, err))))
			_, logErr := fmt.Fprintln(log, text)
			if _, err := fmt.Fprintf(w, "# %q\n", text); err != nil || logErr != nil {
				return errors.Join(err, logErr)
			}
		}
	}
	return nil
}

// writeObjects writes an object, or a list page by page. Secrets are removed from the decoded object: YAML breaks long texts into lines, which can
// part "--password" from its value.
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
		text, err := yaml.Marshal(redact.Object(object))
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
