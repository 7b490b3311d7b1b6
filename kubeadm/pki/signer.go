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

// The controller manager requires a signing file with one certificate and rejects two
// (pkg/controller/certificates/signer). During a rotation the cluster CA's file has both, so the
// controller manager signs with a separate file: first with the old CA, then with the new one.
const (
	signerCert = nextDir + "/signer.crt"
	signerKey  = nextDir + "/signer.key"

	signerFlag    = "cluster-signing-cert-file"
	signerKeyFlag = "cluster-signing-key-file"
)

// setSigner sets the signing file in the controller manager's manifest: a separate file if text has
// both CAs. If text has only the new CA, it restores the original manifest.
func (s hostRotation) setSigner(text []byte) error {
	if !s.authority.nodes {
		return nil
	}
	if bytes.Equal(text, s.fresh) {
		return s.restoreSigner()
	}
	key, err := os.ReadFile(s.Path(s.authority.key))
	if err != nil {
		return err
	}
	signing, err := firstCertificate(s.old) // the file has several CAs if an earlier rotation was abandoned
	if err != nil {
		return err
	}
	if err := s.writeSigner(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signing.Raw}), key); err != nil {
		return err
	}
	record, err := loadRotation(s.Machine)
	if err != nil {
		return err
	}
	name := node.ManifestOf(node.ControllerManager)
	if record.Manifest.Data == nil {
		if record.Manifest, err = s.Keep(name); err != nil {
			return err
		}
		if err := host.WriteJSON(s.Path(RotationFile), record); err != nil {
			return err
		}
	}
	manifest, err := withFlags(record.Manifest.Data, map[string]string{signerFlag: signerCert, signerKeyFlag: signerKey})
	if err != nil {
		return fmt.Errorf("set the controller manager's signing file in %s: %w", name, err)
	}
	return s.RestoreKept(name, host.Kept{Data: manifest, Mode: record.Manifest.Mode})
}

func (s hostRotation) restoreSigner() error {
	record, err := loadRotation(s.Machine)
	if err != nil || record.Manifest.Data == nil {
		return err
	}
	return s.RestoreKept(node.ManifestOf(node.ControllerManager), record.Manifest)
}

func (s hostRotation) writeSigner(certificate, key []byte) error {
	return errors.Join(writeNext(s.Machine, signerKey, key), writeNext(s.Machine, signerCert, certificate))
}

// signerSet returns nil if the controller manager runs with the signing file of its manifest.
func (s hostRotation) signerSet() error {
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
		return fmt.Errorf("the controller manager signs with %s, but its manifest has %s", running[signerFlag], want)
	}
	return nil
}

// withFlags changes flags of a static pod's program. A flag that the program does not have is an error.
func withFlags(manifest []byte, flags map[string]string) ([]byte, error) {
	pod, err := node.PodIn(manifest)
	if err != nil {
		return nil, err
	}
	command := pod.Spec.Containers[0].Command
	for name, value := range flags {
		i := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, "--"+name+"=") })
		if i < 0 {
			return nil, fmt.Errorf("flag --%s does not exist", name)
		}
		command[i] = "--" + name + "=" + value
	}
	return yaml.Marshal(pod)
}
