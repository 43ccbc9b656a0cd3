// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// program is the set of calls of a program.
type program struct {
	// rights are the calls of typed clients and informers, as "resource verb", with the places. Resources have their groups behind them.
	rights map[string][]string
	// dynamic are the verbs of dynamic clients, as "file verb", with the file's path in the module. statusOnly is appended to verbs of the status.
	dynamic map[string][]string
	// functions are all functions and methods that are called, as types.Func.FullName prints them.
	functions map[string]bool
}

// verbs are methods of clients, and what they are in the API.
var verbs = map[string]string{
	"Get": "get", "List": "list", "Watch": "watch", "Create": "create", "Update": "update", "UpdateStatus": "update", "Patch": "patch", "Apply": "patch",
	"Delete": "delete", "DeleteCollection": "deletecollection",
}

const (
	module         = "github.com/antrea-oncache/antrea/"
	typedClients   = "k8s.io/client-go/kubernetes/typed/"
	informers      = "k8s.io/client-go/informers/"
	dynamicClients = "k8s.io/client-go/dynamic"
)

// callsOf reads the program that is built from a package of the module in dir.
func callsOf(dir, main string) (*program, error) {
	// As the Makefile builds: with anything else all libraries would have to be compiled for this alone.
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", main)
	list.Dir, list.Env = dir, env
	own, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", main, err)
	}
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: dir, Env: env,
	}, strings.Fields(string(own))...)
	if err != nil {
		return nil, fmt.Errorf("load the packages of %s: %w", main, err)
	}
	p := &program{rights: map[string][]string{}, dynamic: map[string][]string{}, functions: map[string]bool{}}
	for _, root := range roots {
		if len(root.Errors) > 0 {
			return nil, fmt.Errorf("load the package %s: %w", root.PkgPath, root.Errors[0])
		}
		for _, file := range root.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					p.note(root, call)
				}
				return true
			})
		}
	}
	return p, nil
}

// informerMaker is a function that makes an informer without a factory.
var informerMaker = regexp.MustCompile(`^New(?:Filtered)?(\w+)Informer$`)

// note records a call.
func (p *program) note(root *packages.Package, call *ast.CallExpr) {
	if name, ok := call.Fun.(*ast.Ident); ok {
		if f, ok := root.TypesInfo.Uses[name].(*types.Func); ok {
			p.functions[f.FullName()] = true
		}
		return
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	f, ok := root.TypesInfo.Uses[selector.Sel].(*types.Func)
	if !ok {
		return
	}
	p.functions[f.FullName()] = true
	position := root.Fset.Position(call.Pos())
	if m := informerMaker.FindStringSubmatch(f.Name()); m != nil && f.Pkg() != nil && strings.HasPrefix(f.Pkg().Path(), informers) {
		p.informer(strings.TrimPrefix(f.Pkg().Path(), informers), m[1], position.String())
		return
	}
	receiver := root.TypesInfo.TypeOf(selector.X)
	if receiver == nil {
		return // a package
	}
	named, ok := types.Unalias(receiver).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return
	}
	from, place := named.Obj().Pkg().Path(), position.String()
	verb := verbs[f.Name()]
	switch {
	case strings.HasPrefix(from, typedClients) && verb != "":
		if f.Name() == "UpdateStatus" || namesStatus(call) {
			verb += statusOnly
		}
		right := rightTo(resourceOf(strings.TrimPrefix(from, typedClients), strings.TrimSuffix(named.Obj().Name(), "Interface")), verb)
		p.rights[right] = append(p.rights[right], place)
	case strings.HasPrefix(from, informers) && (f.Name() == "Informer" || f.Name() == "Lister"):
		p.informer(strings.TrimPrefix(from, informers), strings.TrimSuffix(named.Obj().Name(), "Informer"), place)
	case from == dynamicClients && verb != "":
		if f.Name() == "UpdateStatus" || namesStatus(call) {
			verb += statusOnly
		}
		file := path.Join(strings.TrimPrefix(root.PkgPath, module), path.Base(position.Filename))
		p.dynamic[file+" "+verb] = append(p.dynamic[file+" "+verb], place)
	}
}

// namesStatus reports whether a call names the subresource status.
func namesStatus(call *ast.CallExpr) bool {
	literal, ok := call.Args[len(call.Args)-1].(*ast.BasicLit)
	return ok && literal.Value == `"status"`
}

const statusOnly = " of the status"

// rightTo returns the right to use a verb on a resource, or on the status of its objects.
func rightTo(resource, verb string) string {
	if verb, ok := strings.CutSuffix(verb, statusOnly); ok {
		name, group, _ := strings.Cut(resource, ".")
		return strings.TrimSuffix(name+"/status."+group, ".") + " " + verb
	}
	return resource + " " + verb
}

// informer records that the objects of a kind are listed and watched.
func (p *program) informer(folder, kind, place string) {
	// NodeInformer is also called TypedNodeInformer.
	kind = strings.TrimPrefix(kind, "Typed")
	for _, verb := range []string{"list", "watch"} {
		right := resourceOf(folder, kind) + " " + verb
		p.rights[right] = append(p.rights[right], place)
	}
}

// groups are the groups whose names are not the folders of the client library.
var groups = map[string]string{
	"core": "", "apps": "apps", "discovery": "discovery.k8s.io", "networking": "networking.k8s.io", "coordination": "coordination.k8s.io",
	"authentication": "authentication.k8s.io", "authorization": "authorization.k8s.io", "events": "events.k8s.io", "admissionregistration": "admissionregistration.k8s.io",
}

// resourceOf returns the resource of a kind in a folder of the client library, such as networkpolicies.networking.k8s.io.
func resourceOf(folder, kind string) string {
	resource := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(resource, "y"):
		resource = strings.TrimSuffix(resource, "y") + "ies"
	case !strings.HasSuffix(resource, "s"):
		resource += "s"
	}
	group, known := groups[path.Dir(folder)]
	if !known {
		group = path.Dir(folder) + "?"
	}
	if group != "" {
		resource += "." + group
	}
	return resource
}
