package pki

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
)

// The controller manager signs by a file with one certificate, and refuses one with
// two (pkg/controller/certificates/signer). So while the cluster's authority is
// replaced and its file has both, it signs by one beside it: the old one's, then the
// new one's.
const (
	signerCert = nextDir + "/signer.crt"
	signerKey  = nextDir + "/signer.key"

	signerFlag    = "cluster-signing-cert-file"
	signerKeyFlag = "cluster-signing-key-file"
)

// setSigner has the controller manager's manifest fit the authorities in text: with
// two of them it signs by a file of its own, with one the manifest is as it was.
func (s succession) setSigner(text []byte) error {
	if !s.authority.nodes {
		return nil
	}
	if bytes.Equal(text, s.fresh) {
		return s.unsetSigner()
	}
	key, err := os.ReadFile(s.Path(s.authority.key))
	if err != nil {
		return err
	}
	signing, err := firstCertificate(s.old) // more are there when a replacement was begun anew
	if err != nil {
		return err
	}
	if err := s.writeSigner(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signing.Raw}), key); err != nil {
		return err
	}
	record, err := loadSuccession(s.Machine)
	if err != nil {
		return err
	}
	name := node.ManifestOf(node.ControllerManager)
	if record.Manifest.Data == nil {
		if record.Manifest, err = s.Keep(name); err != nil {
			return err
		}
		if err := host.WriteJSON(s.Path(SuccessionFile), record); err != nil {
			return err
		}
	}
	manifest, err := withFlags(record.Manifest.Data, map[string]string{signerFlag: signerCert, signerKeyFlag: signerKey})
	if err != nil {
		return fmt.Errorf("have the controller manager sign by another file, in %s: %w", name, err)
	}
	return s.PutBack(name, host.Kept{Data: manifest, Mode: record.Manifest.Mode})
}

func (s succession) unsetSigner() error {
	record, err := loadSuccession(s.Machine)
	if err != nil || record.Manifest.Data == nil {
		return err
	}
	return s.PutBack(node.ManifestOf(node.ControllerManager), record.Manifest)
}

func (s succession) writeSigner(certificate, key []byte) error {
	return errors.Join(writeNext(s.Machine, signerKey, key), writeNext(s.Machine, signerCert, certificate))
}

// signerSet is nil when the controller manager runs as its manifest says.
func (s succession) signerSet() error {
	if !s.authority.nodes {
		return nil
	}
	text, err := os.ReadFile(s.Path(node.ManifestOf(node.ControllerManager)))
	if err != nil {
		return err
	}
	pod, err := node.PodIn(text)
	if err != nil {
		return err
	}
	running, err := node.Flags(s.Machine, node.ControllerManager)
	if err != nil {
		return err
	}
	if want := process.Flags(pod.Spec.Containers[0].Command)[signerFlag]; running[signerFlag] != want {
		return fmt.Errorf("the controller manager signs by %s, and its manifest says %s", running[signerFlag], want)
	}
	return nil
}

// withFlags sets some flags of a static pod's program, which has to have them.
func withFlags(manifest []byte, flags map[string]string) ([]byte, error) {
	pod, err := node.PodIn(manifest)
	if err != nil {
		return nil, err
	}
	command := pod.Spec.Containers[0].Command
	for name, value := range flags {
		i := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, "--"+name+"=") })
		if i < 0 {
			return nil, fmt.Errorf("there is no --%s", name)
		}
		command[i] = "--" + name + "=" + value
	}
	return yaml.Marshal(pod)
}
