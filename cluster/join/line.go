package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// materialName is the file of JoinDir with the cluster's public facts.
const materialName = "cluster.json"

// Line is how another host joins: a line that holds no secret, and a code
// that does, for a prompt or for stdin, and for that one host.
type Line struct {
	Node  string    `json:"node,omitempty"` // "" without a code
	Line  string    `json:"line"`
	Code  string    `json:"code,omitempty"`
	Until time.Time `json:"until,omitzero"` // the code's end
}

// LineFor makes the line for a node, without a code.
func LineFor(s *site.Site, node config.Node) (Line, error) {
	line, err := CommandAt(s, "join")
	return Line{Node: node.Name, Line: line}, err
}

// CommandAt returns the line of a command that another host runs against this host's
// registry: "join" or "upgrade node".
func CommandAt(s *site.Site, command string) (string, error) {
	hash, err := trust.CAHashOf(trust.PKI{Dir: site.PKIDir}.CAFile())
	words := append([]string{"airgap", command, s.RegistryAddr(), "--ca-hash", hash}, RequireFlags(s.Required)...)
	return strings.Join(words, " "), err
}

// LineWithToken returns the line with a new join token for a node.
func LineWithToken(ctx context.Context, s *site.Site, node config.Node, say func(string, ...any)) (Line, error) {
	line, err := LineFor(s, node)
	if err != nil {
		return line, err
	}
	code, until, err := NewToken(ctx, s, node, say)
	line.Code, line.Until = code.Reveal(), until
	return line, err
}

// NewToken creates a join token for a node, and returns its expiry. say reports objects that must
// be removed before the node can join.
func NewToken(ctx context.Context, s *site.Site, node config.Node, say func(string, ...any)) (jointoken.JoinToken, time.Time, error) {
	if err := pki.RefuseDuringCARotation(s.Machine.Machine, "create a join token"); err != nil {
		return jointoken.JoinToken{}, time.Time{}, err
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return jointoken.JoinToken{}, time.Time{}, err
	}
	if err := welcome(ctx, s, client, node, say); err != nil {
		return jointoken.JoinToken{}, time.Time{}, err
	}
	if node.Name != "" { // airgap.yaml may have it since the last installation
		if err := nodereport.Allow(ctx, client, node.Name); err != nil {
			return jointoken.JoinToken{}, time.Time{}, err
		}
	}
	var keys jointoken.ControlPlaneSecrets
	if node.Has(config.ControlPlane) {
		if keys, err = pki.ReadKeys(s.Machine.Machine, append(kubeadm.SharedSecrets(s.Config.Kubernetes), trust.PKI{Dir: site.PKIDir}.CAKeyFile())...); err != nil {
			return jointoken.JoinToken{}, time.Time{}, err
		}
	}
	material, err := kubeadm.Material(s.Machine, s.Config.Kubernetes)
	if err != nil {
		return jointoken.JoinToken{}, time.Time{}, err
	}
	return jointoken.Issue(ctx, client, material, node.Name, keys)
}

// Lines returns the join commands of the nodes that are not in the cluster yet, with
// join tokens if requested.
func Lines(ctx context.Context, s *site.Site, withCodes bool, say func(string, ...any)) ([]Line, error) {
	missing, err := MissingNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	var lines []Line
	for _, n := range missing {
		line, err := LineFor(s, n)
		if err == nil && withCodes {
			line, err = LineWithToken(ctx, s, n, say)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// MissingNodes are the nodes of airgap.yaml that have not joined and are not absent.
func MissingNodes(ctx context.Context, s *site.Site) ([]config.Node, error) {
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	there, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes that have joined: %w", err)
	}
	return slices.DeleteFunc(s.Config.PresentNodes(), func(n config.Node) bool {
		return slices.ContainsFunc(there.Items, func(have corev1.Node) bool { return have.Name == n.Name })
	}), nil
}

func (l Line) Write(w io.Writer) error { return WriteLines(w, []Line{l}) }

// WriteLines prints the line once, because it is the same for all nodes, and the join token of each node.
func WriteLines(w io.Writer, lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nEach other server, after rpm --import and rpm -i as INSTALL.txt says:\n\n  %s\n\n", lines[0].Line)
	if lines[0].Code == "" {
		_, err := fmt.Fprintln(w, "It asks for a join token. To create one here, run airgap join --new-token --node NAME.")
		return err
	}
	fmt.Fprintf(w, "It asks for a join token. Each token is valid once, for its node, until %s:\n\n", lines[0].Until.Local().Format("15:04 MST"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "  %s\t%s\n", l.Node, l.Code)
	}
	return t.Flush()
}

// Again has the nodes that have already joined: their lists of hosts for registries
// and firewall come from the bundle with which they joined.
type Again struct {
	Nodes []string `json:"nodes"`
	Line  string   `json:"line"` // asks for no code there
}

// AgainSteps returns nil if no other node has joined.
func AgainSteps(ctx context.Context, s *site.Site) (*Again, error) {
	missing, err := MissingNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	again := &Again{}
	for _, n := range s.Config.PresentNodes() {
		if n.Name != s.Node.Name && !slices.ContainsFunc(missing, func(m config.Node) bool { return m.Name == n.Name }) {
			again.Nodes = append(again.Nodes, n.Name)
		}
	}
	if again.Nodes == nil {
		return nil, nil
	}
	line, err := LineFor(s, config.Node{})
	again.Line = line.Line
	return again, err
}

func (j *Again) Write(w io.Writer) error {
	if j == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nRun this again on %s, which have already joined. It needs no join token and applies only the changes of this bundle:\n\n  %s\n", hostrange.Join(j.Nodes), j.Line)
	return err
}

// MaterialStep publishes the files for joining hosts: the cluster's public
// facts, and the signed index, so that a joining host checks the signature too.
func MaterialStep(s *site.Site, b *bundle.Bundle) step.Step {
	laid := site.FilesStep("join-material", "Publish the files for joining hosts", site.JoinDir, nil)
	laid.Done = func(context.Context) (bool, error) {
		files, err := joinFiles(s, b)
		if err != nil {
			return false, host.IgnoreMissing(err)
		}
		return site.AllMatch(site.JoinDir, files)
	}
	laid.Plan = func(context.Context) ([]string, error) {
		files, err := joinFiles(s, b)
		if errors.Is(err, fs.ErrNotExist) { // there is no cluster yet
			files, err = map[string][]byte{materialName: nil, site.RemovedName: nil}, nil
			for _, name := range bundle.IndexFiles() {
				files[name] = nil
			}
		}
		changes, planErr := host.PlanFiles(site.InDir(site.JoinDir, files), 0o644)
		return changes, errors.Join(err, planErr)
	}
	laid.Run = func(context.Context) error {
		files, err := joinFiles(s, b)
		if err != nil {
			return err
		}
		return site.WriteAll(site.JoinDir, files)
	}
	return laid
}

func joinFiles(s *site.Site, b *bundle.Bundle) (map[string][]byte, error) {
	material, err := kubeadm.Material(s.Machine, s.Config.Kubernetes)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(material, "", "  ")
	if err != nil {
		return nil, err
	}
	all, err := s.Choice.File()
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string][]byte{}
	}
	all[materialName] = data
	if all[site.RemovedName], err = s.RemovedFile(); err != nil {
		return nil, err
	}
	signed, err := SignedFiles(b)
	maps.Copy(all, signed)
	return all, err
}

// SignedFiles are bundle.IndexFiles of a bundle, and the optional ones that it has, as they were signed.
func SignedFiles(b *bundle.Bundle) (map[string][]byte, error) {
	all, names := map[string][]byte{}, bundle.IndexFiles()
	for _, name := range bundle.OptionalIndexFiles() {
		if slices.Contains(b.Names(), name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		var err error
		if all[name], err = b.Attested(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
