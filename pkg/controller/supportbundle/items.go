// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supportbundle says what antrea-controller puts into its support bundle: logs, its own API, and the policies and groups
// that it has computed.
package supportbundle

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// scheme converts objects to the form that clients get.
var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(controlplane.AddToScheme(scheme))
	utilruntime.Must(v1beta2.AddToScheme(scheme))
}

// Store has the controller's results.
type Store interface {
	List(resource networkpolicy.Resource, selection networkpolicy.Selection) (objects []runtime.Object, version string)
}

// Controller is the source of the controller's items.
type Controller struct {
	LogDirectory string
	// ConfigFile is empty if there is none.
	ConfigFile string
	// Routes are the paths of the controller's API that answer GET; ControllerInfo is the one of AntreaControllerInfo.
	Routes         map[string]http.HandlerFunc
	ControllerInfo string
	Store          Store
}

// Items is for supportbundle.Config.
func (c *Controller) Items(since time.Time) []supportbundle.Item {
	items := []supportbundle.Item{
		supportbundle.Route("controllerinfo", c.ControllerInfo, nil, c.Routes[c.ControllerInfo]),
		supportbundle.Route("featuregates", "/featuregates", nil, c.Routes["/featuregates"]),
		c.objects("networkpolicies", networkpolicy.NetworkPolicies),
		c.objects("appliedtogroups", networkpolicy.AppliedToGroups),
		c.objects("addressgroups", networkpolicy.AddressGroups),
		c.objects("egressgroups", networkpolicy.EgressGroups),
	}
	if c.ConfigFile != "" {
		items = append(items, supportbundle.File("antrea-controller.conf", c.ConfigFile))
	}
	return slices.Concat(supportbundle.Logs("logs/controller/", filepath.Join(c.LogDirectory, "antrea-controller*"), since), items, supportbundle.Process())
}

// objects are documents of YAML.
func (c *Controller) objects(name string, resource networkpolicy.Resource) supportbundle.Item {
	return supportbundle.Item{Name: name, Collect: func(ctx context.Context, w io.Writer) error {
		objects, _ := c.Store.List(resource, networkpolicy.Selection{})
		for _, object := range objects {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			published, err := scheme.ConvertToVersion(object, v1beta2.SchemeGroupVersion)
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(published)
			if err != nil {
				return err
			}
			if _, err := w.Write(append([]byte("---\n"), text...)); err != nil {
				return err
			}
		}
		return nil
	}}
}
