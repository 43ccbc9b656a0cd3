// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/pkg/antctl/nodefacts"
	"github.com/antrea-oncache/antrea/pkg/antctl/performance/peer"
)

// NewCommand returns the command antctl for env. tokenFile is the file in which the component in the same Pod stores
// its loopback token. Output goes to the command's writers.
func NewCommand(env Environment, tokenFile string) *cobra.Command {
	s := &session{env: env, tokenFile: tokenFile}
	conn := &s.conn
	root := &cobra.Command{
		Use:          "antctl",
		Short:        "antctl inspects a running Antrea component",
		SilenceUsage: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVarP(&conn.server, "server", "s", "", "Address and port of the API server")
	flags.StringVarP(&conn.kubeconfig, "kubeconfig", "k", "", "Path of the kubeconfig file, used outside the Pods of Antrea")
	if !env.InPod {
		flags.StringVar(&conn.context, "context", "", "Name of the kubeconfig's context")
		flags.StringVar(&conn.user, "as", "", "User to impersonate")
		flags.StringArrayVar(&conn.groups, "as-group", nil, "Group to impersonate; can be repeated")
	}
	flags.DurationVarP(&conn.timeout, "timeout", "t", 0, "Time limit of a request, for example 5s; 0 for none")
	flags.BoolVarP(&conn.verbose, "verbose", "v", false, "Log requests and responses to standard error")

	s.addDefinitions(root)
	if env.Mode == ModeAgent || env.Mode == ModeController {
		root.AddCommand(newSupportBundle(s), newTraceflow(s))
	}
	if env.Mode == ModeController {
		root.AddCommand(newProxy(s), newCheck(s))
	}
	if s.outside() {
		root.AddCommand(newStatus(s), newMulticluster(s), peer.NewCommand(), nodefacts.NewCommand())
	}
	return root
}

// outside reports whether antctl runs outside the Pods of Antrea.
func (s *session) outside() bool { return s.env == Environment{Mode: ModeController} }

// addDefinitions adds the commands that are definitions, in their groups.
func (s *session) addDefinitions(root *cobra.Command) {
	groups := map[Group]*cobra.Command{
		Flat:    root,
		Get:     newGroup(Get, "Get the state of the component"),
		Query:   newGroup(Query, "Ask what policies mean for Pods"),
		ONCache: newGroup(ONCache, "Control the ONCache fast path"),
	}
	for i := range definitions {
		definition := &definitions[i]
		if s.outside() && definition.Agent != nil && !answeredByController(definition) {
			groups[definition.Group].AddCommand(s.newNodeCommand(definition))
			continue
		}
		endpoint := definition.endpoint(s.env.Mode)
		if endpoint == nil {
			continue
		}
		command := newSubcommand(definition, endpoint, s.asker(endpoint, s.client))
		if definition.Watch {
			addWatch(command, definition, s)
		}
		groups[definition.Group].AddCommand(command)
	}
	for _, a := range absentCommands {
		if slices.Contains(a.modes, s.env.Mode) {
			groups[a.group].AddCommand(newAbsent(a.use))
		}
	}
	for _, group := range []Group{Get, Query, ONCache} {
		if groups[group].HasSubCommands() {
			root.AddCommand(groups[group])
		}
	}
}

// answeredByController reports whether another definition of the same command asks the controller.
func answeredByController(d *Definition) bool {
	return d.Controller == nil && slices.ContainsFunc(definitions, func(other Definition) bool {
		return other.Group == d.Group && other.Use == d.Use && other.Controller != nil
	})
}

// session holds the connections of one command line to its servers.
type session struct {
	env       Environment
	conn      connection
	tokenFile string
	// node is the Node whose agent is asked from outside its Pod; empty for none.
	node string
}

// asker returns a function that asks for what an endpoint answers; connect makes the client.
func (s *session) asker(endpoint *Endpoint, connect func(context.Context, *Endpoint) (*client, error)) func(context.Context, url.Values) ([]byte, error) {
	return func(ctx context.Context, query url.Values) ([]byte, error) {
		sent, body := query, []byte(nil)
		if endpoint.Query != nil {
			sent = endpoint.Query(query)
		}
		if endpoint.Body != nil {
			var err error
			if body, err = endpoint.Body(query); err != nil {
				return nil, err
			}
		}
		if s.conn.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.conn.timeout)
			defer cancel()
		}
		c, err := connect(ctx, endpoint)
		if err != nil {
			return nil, err
		}
		defer c.http.CloseIdleConnections()
		return c.send(ctx, endpoint.method(query), endpoint.Path, sent, body)
	}
}

func (s *session) client(ctx context.Context, endpoint *Endpoint) (*client, error) {
	if s.env.InPod {
		return newLoopbackClient(s.env.Mode, s.conn.server, s.tokenFile)
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err == nil && s.node != "" {
		return agentClient(ctx, kubernetes, s.node)
	}
	if err != nil || !endpoint.Direct {
		return kubernetes, err
	}
	controller, err := findController(ctx, kubernetes)
	if err != nil {
		return nil, err
	}
	return controller.client(ctx)
}

func newGroup(group Group, short string) *cobra.Command {
	return &cobra.Command{
		Use: string(group), Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// newSubcommand makes the cobra command of a definition; ask returns the server's answer to a query.
func newSubcommand(d *Definition, endpoint *Endpoint, ask func(context.Context, url.Values) ([]byte, error)) *cobra.Command {
	use := d.Use
	for _, arg := range d.Args {
		use += fmt.Sprintf(" [%s]", arg.Name)
	}
	cmd := &cobra.Command{
		Use: use, Aliases: d.Aliases, Short: d.Short, Long: d.Long, Example: d.Example,
		Args: cobra.MaximumNArgs(len(d.Args)),
	}
	for _, f := range d.Flags {
		if f.Bool {
			cmd.Flags().BoolP(f.Name, f.Shorthand, false, f.Usage)
		} else {
			cmd.Flags().StringP(f.Name, f.Shorthand, "", f.Usage)
		}
	}
	output := FormatYAML
	if d.Group != Flat {
		output = FormatTable
	}
	if !endpoint.TextOnly {
		addOutputFlags(cmd.Flags(), output)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := d.execute(cmd, args, endpoint, output, ask); err != nil {
			// Servers contribute to the text of most errors.
			return cleanError{err}
		}
		return nil
	}
	return cmd
}

// execute sends the query and prints the answer, in the format of the flag --output unless the endpoint has only text.
func (d *Definition) execute(cmd *cobra.Command, args []string, endpoint *Endpoint, format Format,
	ask func(context.Context, url.Values) ([]byte, error)) error {
	format, err := endpoint.format(cmd, format)
	if err != nil {
		return err
	}
	query, err := d.query(cmd, args)
	if err != nil {
		return err
	}
	result, err := d.result(cmd.Context(), endpoint, query, ask)
	if err != nil {
		if d.Unanswered != nil {
			return errors.Join(err, write(cmd.OutOrStdout(), d.Unanswered(), format))
		}
		return err
	}
	return endpoint.print(cmd, result, format)
}

// format returns the value of the flag --output, or of commands without it the format of their text.
func (e *Endpoint) format(cmd *cobra.Command, text Format) (Format, error) {
	if e.TextOnly {
		return text, nil
	}
	return outputFormat(cmd.Flags())
}

// result asks for the answer to a query, and reads it.
func (d *Definition) result(ctx context.Context, endpoint *Endpoint, query url.Values, ask func(context.Context, url.Values) ([]byte, error)) (Result, error) {
	body, err := ask(ctx, query)
	if err != nil {
		return Result{}, err
	}
	return endpoint.response(query).Read(body)
}

func (e *Endpoint) print(cmd *cobra.Command, result Result, format Format) error {
	if e.TextOnly {
		_, err := fmt.Fprint(cmd.OutOrStdout(), cleanText(result.Text))
		return err
	}
	return write(cmd.OutOrStdout(), result, format)
}

func (d *Definition) query(cmd *cobra.Command, args []string) (url.Values, error) {
	query := url.Values{}
	for i, arg := range args {
		query.Set(d.Args[i].Name, arg)
	}
	for _, f := range d.Flags {
		if !cmd.Flags().Changed(f.Name) {
			continue
		}
		if !f.Bool {
			value, err := cmd.Flags().GetString(f.Name)
			if err != nil {
				return nil, err
			}
			query.Set(cmp.Or(f.Parameter, f.Name), value)
			continue
		}
		on, err := cmd.Flags().GetBool(f.Name)
		if err != nil {
			return nil, err
		}
		if on {
			query.Set(cmp.Or(f.Parameter, f.Name), "true")
		}
	}
	return query, nil
}
