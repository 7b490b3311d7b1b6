package main

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

// materialName is the file of joinDir with the cluster's public facts.
const materialName = "cluster.json"

// joinLine is how another host joins: a line that holds no secret, and a code
// that does, for a prompt or for stdin, and for that one host.
type joinLine struct {
	Node  string    `json:"node,omitempty"` // "" without a code
	Line  string    `json:"line"`
	Code  string    `json:"code,omitempty"`
	Until time.Time `json:"until,omitzero"` // the code's end
}

// joinLine makes the line for a node, without a code.
func (s *site) joinLine(node config.Node) (joinLine, error) {
	hash, err := registry.CAHashOf(registry.PKI{Dir: pkiDir}.CAFile())
	words := append([]string{"airgap join", s.registryAddr(), "--ca-hash", hash}, requireFlags(s.required)...)
	return joinLine{Node: node.Name, Line: strings.Join(words, " ")}, err
}

// joinLineWithCode makes the line and a fresh code for a node.
func (s *site) joinLineWithCode(ctx context.Context, node config.Node, say func(string, ...any)) (joinLine, error) {
	line, err := s.joinLine(node)
	if err != nil {
		return line, err
	}
	code, until, err := s.newCode(ctx, node, say)
	line.Code, line.Until = code.Reveal(), until
	return line, err
}

// newCode makes a code for a node, and says when it ends. say is told what has to
// go before the node can come.
func (s *site) newCode(ctx context.Context, node config.Node, say func(string, ...any)) (kubeadm.Code, time.Time, error) {
	if err := s.machine.RefuseAmidReplacement("make a code for joining"); err != nil {
		return kubeadm.Code{}, time.Time{}, err
	}
	client, err := s.machine.Client(kubeadm.AdminConf)
	if err != nil {
		return kubeadm.Code{}, time.Time{}, err
	}
	if err := s.welcome(ctx, client, node, say); err != nil {
		return kubeadm.Code{}, time.Time{}, err
	}
	if node.Name != "" { // airgap.yaml may have it since the last installation
		if err := nodereport.Allow(ctx, client, node.Name); err != nil {
			return kubeadm.Code{}, time.Time{}, err
		}
	}
	var keys kubeadm.Parcel
	if node.Has(config.ControlPlane) {
		if keys, err = kubeadm.Pack(s.machine, append(kubeadm.SharedSecrets(s.config.Kubernetes), registry.PKI{Dir: pkiDir}.CAKeyFile())...); err != nil {
			return kubeadm.Code{}, time.Time{}, err
		}
	}
	material, err := kubeadm.Material(s.machine, s.config.Kubernetes)
	if err != nil {
		return kubeadm.Code{}, time.Time{}, err
	}
	return kubeadm.IssueCode(ctx, client, material, node.Name, keys)
}

// joinLines are those of the nodes that are not in the cluster yet, with codes
// if that is wanted.
func (s *site) joinLines(ctx context.Context, withCodes bool, say func(string, ...any)) ([]joinLine, error) {
	missing, err := s.missingNodes(ctx)
	if err != nil {
		return nil, err
	}
	var lines []joinLine
	for _, n := range missing {
		line, err := s.joinLine(n)
		if err == nil && withCodes {
			line, err = s.joinLineWithCode(ctx, n, say)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// slowAPI is for an API server that answers, but not each time: on a slow host it has
// much to do right after an installation.
const slowAPI = 2 * time.Minute

// patiently asks the API server until it answers, unless its answer is a no.
func patiently[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	return patientlyFor(ctx, slowAPI, ask)
}

func patientlyFor[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (answer T, err error) {
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(ctx context.Context) (bool, error) {
		answer, last = ask(ctx)
		if apierrors.ReasonForError(last) != metav1.StatusReasonUnknown && !apierrors.IsServerTimeout(last) && !apierrors.IsTooManyRequests(last) && !apierrors.IsTimeout(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil && last != nil {
		err = last
	}
	return answer, err
}

// missingNodes are the nodes of airgap.yaml that have not joined.
func (s *site) missingNodes(ctx context.Context) ([]config.Node, error) {
	client, err := s.machine.Client(kubeadm.AdminConf)
	if err != nil {
		return nil, err
	}
	there, err := patiently(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes that have joined: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(s.config.Nodes), func(n config.Node) bool {
		return slices.ContainsFunc(there.Items, func(have corev1.Node) bool { return have.Name == n.Name })
	}), nil
}

func (l joinLine) write(w io.Writer) error { return writeJoinLines(w, []joinLine{l}) }

// writeJoinLines tells the line once: it is the same for all.
func writeJoinLines(w io.Writer, lines []joinLine) error {
	if len(lines) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nEach other server, after rpm --import and rpm -i as INSTALL.txt says:\n\n  %s\n\n", lines[0].Line)
	if lines[0].Code == "" {
		_, err := fmt.Fprintln(w, "It asks for a code; airgap join --new-code --node NAME makes one here.")
		return err
	}
	fmt.Fprintf(w, "It asks for a code. Each of these lets the server of its node in, once, until %s:\n\n", lines[0].Until.Local().Format("15:04 MST"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "  %s\t%s\n", l.Node, l.Code)
	}
	return t.Flush()
}

// joinAgain is for nodes that have joined already: their lists of hosts, registries
// and firewall, are what the bundle says that they joined with.
type joinAgain struct {
	Nodes []string `json:"nodes"`
	Line  string   `json:"line"` // asks for no code there
}

// joinAgain is nil when nobody else has joined.
func (s *site) joinAgain(ctx context.Context) (*joinAgain, error) {
	missing, err := s.missingNodes(ctx)
	if err != nil {
		return nil, err
	}
	again := &joinAgain{}
	for _, n := range s.config.Nodes {
		if n.Name != s.node.Name && !slices.ContainsFunc(missing, func(m config.Node) bool { return m.Name == n.Name }) {
			again.Nodes = append(again.Nodes, n.Name)
		}
	}
	if again.Nodes == nil {
		return nil, nil
	}
	line, err := s.joinLine(config.Node{})
	again.Line = line.Line
	return again, err
}

func (j *joinAgain) write(w io.Writer) error {
	if j == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nOn %s, which have joined, the same line again; it asks for no code and changes only what this bundle has changed:\n\n  %s\n", strings.Join(j.Nodes, ", "), j.Line)
	return err
}

// joinMaterialStep lays out what joining hosts may read: the cluster's public
// facts, and the signed index, so that a joining host checks the signature too.
func (s *site) joinMaterialStep(b *bundle.Bundle) step.Step {
	laid := filesStep("join-material", "Lay out what joining hosts need", joinDir, nil)
	laid.Done = func(context.Context) (bool, error) {
		files, err := s.joinFiles(b)
		if err != nil {
			return false, host.IgnoreMissing(err)
		}
		return allHold(joinDir, files)
	}
	laid.Plan = func(context.Context) ([]string, error) {
		files, err := s.joinFiles(b)
		if errors.Is(err, fs.ErrNotExist) { // there is no cluster yet
			files, err = map[string][]byte{materialName: nil, removedName: nil}, nil
			for _, name := range indexFiles() {
				files[name] = nil
			}
		}
		changes, planErr := host.PlanFiles(inDir(joinDir, files), 0o644)
		return changes, errors.Join(err, planErr)
	}
	laid.Run = func(context.Context) error {
		files, err := s.joinFiles(b)
		if err != nil {
			return err
		}
		return writeAll(joinDir, files)
	}
	return laid
}

func (s *site) joinFiles(b *bundle.Bundle) (map[string][]byte, error) {
	material, err := kubeadm.Material(s.machine, s.config.Kubernetes)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(material, "", "  ")
	if err != nil {
		return nil, err
	}
	all, err := s.choice.file()
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string][]byte{}
	}
	all[materialName] = data
	if all[removedName], err = s.removedFile(); err != nil {
		return nil, err
	}
	signed, err := signedFiles(b)
	maps.Copy(all, signed)
	return all, err
}

// signedFiles are indexFiles of a bundle, as they were signed.
func signedFiles(b *bundle.Bundle) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range indexFiles() {
		var err error
		if all[name], err = b.Vouched(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// indexFiles are the signed index of a bundle, without its parts, and the key
// that signed it, for who knows its fingerprint.
func indexFiles() []string {
	return []string{bundle.IndexName, bundle.SumsName, bundle.SignatureName, bundle.PublicKeyName}
}
