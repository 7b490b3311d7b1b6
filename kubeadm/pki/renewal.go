package pki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Renewal renews the certificates of this host: those that kubeadm made for the control plane,
// and the serving certificate of the kubelet. It restarts the programs that have loaded them,
// one at a time.
//
// RenewalFile has the old files until every program uses the new ones. The next run continues
// an interrupted renewal: RenewalFile shows whether all files are new, and the start times of
// the programs show which ones must still restart.
type Renewal struct {
	Machine      host.Machine
	Say          func(format string, args ...any)
	AfterKubeadm func() error // changes the files that kubeadm made, before any program loads them; nil changes nothing
	// Turn waits until no other control-plane host restarts its programs, and makes the others
	// wait until release. Run calls it before it renews certificates of the control plane, also when
	// it resumes an interrupted renewal. nil: the caller ensures that one host runs at a time.
	Turn func(ctx context.Context, resumed bool) (release func(), err error)
}

// Renewed is the result of a renewal.
type Renewed struct {
	Files     []string `json:"files"`     // paths of the certificates that changed
	Restarted []string `json:"restarted"` // programs: "kube-apiserver"
	Resumed   bool     `json:"resumed"`   // the run continued an interrupted renewal
}

// RenewalFile has a copy of the old files, including keys, during a renewal.
const RenewalFile = host.StateDir + "/renewal.json"

type renewal struct {
	Due   []string             `json:"due,omitempty"` // paths of the certificates that were due at the start
	Files map[string]host.Kept `json:"files,omitempty"`
	Made  time.Time            `json:"made,omitzero"` // when all new files existed
}

// The serving certificate of the kubelet and its key. The kubelet creates them if they do not exist.
const (
	kubeletCertificate = runtime.KubeletDir + "/pki/kubelet.crt"
	kubeletKey         = runtime.KubeletDir + "/pki/kubelet.key"
)

// Run renews all certificates of kubeadm if at least one of them is due, and the kubelet's serving
// certificate if it is due. If nothing is due, Run changes nothing. Run first completes an
// interrupted renewal and does not call due then: a certificate may be half-written.
func (r Renewal) Run(ctx context.Context, due func() ([]string, error)) (Renewed, error) {
	waiting := func() { r.Say("wait for kubeadm, which an interrupted run left running") }
	if err := node.Await(ctx, r.Machine, waiting); err != nil {
		return Renewed{}, err
	}
	under, err := host.ReadJSON[renewal](r.Machine.Path(RenewalFile))
	if err != nil {
		return Renewed{}, err
	}
	done := Renewed{Files: []string{}, Resumed: under.Files != nil}
	if done.Resumed {
		r.Say("continue the interrupted renewal")
	} else if under, err = r.prepare(due); err != nil || under.Files == nil {
		return done, err
	}
	release, err := r.turn(ctx, under, done.Resumed)
	if err != nil {
		return done, err
	}
	defer release()
	if err := host.WriteJSON(r.Machine.Path(RenewalFile), under); err != nil {
		return done, err
	}
	if under.Made.IsZero() {
		if under.Made, err = r.make(ctx, under); err != nil {
			return done, err
		}
	}
	if done.Restarted, err = r.load(ctx, under); err != nil {
		return done, err
	}
	if done.Files, err = renewedOf(r.Machine, under); err != nil {
		return done, err
	}
	return done, host.Remove(r.Machine.Path(RenewalFile))
}

// prepare reads the files that a renewal replaces; nil Files mean that nothing is due.
func (r Renewal) prepare(due func() ([]string, error)) (under renewal, err error) {
	if under.Due, err = due(); err != nil {
		return under, err
	}
	under.Files, err = keepDue(r.Machine, under.Due)
	return under, err
}

// turn waits for this host's turn if the renewal restarts programs of the control plane.
func (r Renewal) turn(ctx context.Context, under renewal, resumed bool) (release func(), err error) {
	if _, restarts := under.Files[kube.AdminConf]; !restarts || r.Turn == nil {
		return func() {}, nil
	}
	return r.Turn(ctx, resumed)
}

// keepDue reads the files that a renewal of due replaces.
func keepDue(m host.Machine, due []string) (map[string]host.Kept, error) {
	var names []string
	if slices.ContainsFunc(due, ofControlPlane) {
		var err error
		if names, err = controlPlaneFiles(m); err != nil {
			return nil, err
		}
	}
	if slices.Contains(due, kubeletCertificate) {
		names = append(names, kubeletCertificate, kubeletKey)
	}
	var files map[string]host.Kept
	for _, name := range names {
		k, err := m.Keep(name)
		if err != nil {
			return nil, fmt.Errorf("save %s before its renewal: %w", name, err)
		}
		if files == nil {
			files = map[string]host.Kept{}
		}
		files[name] = k
	}
	return files, nil
}

// ofControlPlane reports whether kubeadm renews the file. According to kubeadm certs renew --help
// these are neither CAs nor the kubeconfig of the kubelet.
func ofControlPlane(name string) bool {
	authority := slices.Contains([]string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key", "sa.pub"}, path.Base(name))
	return strings.HasPrefix(name, "/etc/kubernetes/") && !authority && name != kube.KubeletConf
}

func controlPlaneFiles(m host.Machine) ([]string, error) {
	var names []string
	for _, pattern := range []string{"/etc/kubernetes/*.conf", node.PKIDir + "/*.crt", node.PKIDir + "/*.key", node.PKIDir + "/etcd/*.crt", node.PKIDir + "/etcd/*.key"} {
		found, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if at := inside(m, name); ofControlPlane(at) {
				names = append(names, at)
			}
		}
	}
	return names, nil
}

// inside returns the path without Machine.Root.
func inside(m host.Machine, name string) string {
	return path.Join("/", strings.TrimPrefix(name, m.Path("/")))
}

// make creates the new files. It first restores the old files, because an interrupted run may have
// left half-written ones, and kubeadm reads names and addresses from the old certificates.
func (r Renewal) make(ctx context.Context, under renewal) (time.Time, error) {
	m := r.Machine
	if err := restoreAll(m, under.Files); err != nil {
		return time.Time{}, err
	}
	if _, has := under.Files[kube.AdminConf]; has {
		r.Say("renew the certificates of the control plane with kubeadm")
		if err := node.Kubeadm(ctx, m, nil, nil, "certs", "renew", "all"); err != nil {
			return time.Time{}, r.restoreOld(under, err)
		}
		if err := allRenewed(m, under); err != nil {
			return time.Time{}, r.restoreOld(under, err)
		}
	}
	if r.AfterKubeadm != nil {
		if err := r.AfterKubeadm(); err != nil {
			return time.Time{}, err
		}
	}
	if _, has := under.Files[kubeletKey]; has {
		if err := errors.Join(host.Remove(m.Path(kubeletCertificate)), host.Remove(m.Path(kubeletKey))); err != nil {
			return time.Time{}, err
		}
	}
	if err := m.Run(ctx, "sync", "--file-system", m.Path("/etc/kubernetes"), m.Path(runtime.KubeletDir)); err != nil {
		return time.Time{}, fmt.Errorf("sync the new certificates to disk: %w", err)
	}
	under.Made = time.Now()
	return under.Made, host.WriteJSON(m.Path(RenewalFile), under)
}

// restoreOld restores the old files, unless the run was interrupted: then the next run continues.
func (r Renewal) restoreOld(under renewal, why error) error {
	if errors.Is(why, context.Canceled) {
		return why
	}
	if err := restoreAll(r.Machine, under.Files); err != nil {
		return errors.Join(why, err)
	}
	return errors.Join(why, host.Remove(r.Machine.Path(RenewalFile)))
}

func restoreAll(m host.Machine, files map[string]host.Kept) error {
	for name, k := range files {
		if err := m.RestoreKept(name, k); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	return nil
}

// allRenewed returns an error if one of the due files has not changed: kubeadm skips the
// certificates of a CA if the key of the CA does not exist on the host.
func allRenewed(m host.Machine, under renewal) error {
	changed, err := renewedOf(m, under)
	if err != nil {
		return err
	}
	for _, name := range under.Due {
		if ofControlPlane(name) && !slices.Contains(changed, name) {
			return &host.Failure{What: "renew " + name, Err: errors.New("kubeadm did not change it"), Next: "check that the key of its CA is in " + node.PKIDir + ", and read the output of kubeadm in " + host.LogDir + "/kubeadm-certs.log"}
		}
	}
	return nil
}

// renewedOf returns the paths of the certificates and kubeconfigs that differ from their saved copies.
func renewedOf(m host.Machine, under renewal) ([]string, error) {
	var changed []string
	for name, k := range under.Files {
		now, err := os.ReadFile(m.Path(name))
		if err != nil {
			return nil, fmt.Errorf("read the new %s: %w", name, err)
		}
		if path.Ext(name) != ".key" && !bytes.Equal(now, k.Data) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// KubeletRotates reports whether the kubelet of this host renews its client certificate itself:
// the value of rotateCertificates in its configuration.
func KubeletRotates(m host.Machine) (bool, error) {
	text, err := os.ReadFile(m.Path(runtime.KubeletConfig))
	if err != nil {
		return false, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	var config struct {
		RotateCertificates bool `json:"rotateCertificates"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return false, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return config.RotateCertificates, nil
}
