package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

// materialName is the file of joinDir with the cluster's public facts.
const materialName = "cluster.json"

// joinLine is how another host joins: a line that holds no secret, and a code
// that does, for a prompt or for stdin.
type joinLine struct {
	Line  string    `json:"line"`
	Code  string    `json:"code,omitempty"`
	Until time.Time `json:"until,omitzero"` // the code's end
}

// joinLine makes the line, and a fresh code when withCode.
func (s *site) joinLine(ctx context.Context, withCode bool) (*joinLine, error) {
	hash, err := registry.CAHashOf(registry.PKI{Dir: pkiDir}.CAFile())
	if err != nil {
		return nil, err
	}
	line := &joinLine{Line: fmt.Sprintf("airgap join %s --ca-hash %s", s.registryAddr(), hash)}
	if !withCode {
		return line, nil
	}
	client, err := s.machine.Client(kubeadm.AdminConf)
	if err != nil {
		return nil, err
	}
	line.Code, line.Until, err = kubeadm.CreateCode(ctx, client)
	return line, err
}

func (l *joinLine) write(w io.Writer) error {
	fmt.Fprintf(w, "\nEach other server, after rpm --import and rpm -i as INSTALL.txt says:\n\n  %s\n\n", l.Line)
	if l.Code == "" {
		_, err := fmt.Fprintln(w, "It asks for a code; airgap join --new-code makes one here.")
		return err
	}
	_, err := fmt.Fprintf(w, "It asks for this code, good until %s:\n\n  %s\n", l.Until.Format("15:04 MST"), l.Code)
	return err
}

// joinMaterialStep lays out what joining hosts may read: the cluster's public
// facts, and the signed index, so that a joining host checks the signature too.
func joinMaterialStep(m kubeadm.Machine, c kubeadm.Config, b *bundle.Bundle) step.Step {
	s := filesStep("join-material", "Lay out what joining hosts need", joinDir, nil)
	s.Done = func(context.Context) (bool, error) {
		files, err := joinFiles(m, c, b)
		if err != nil {
			return false, ignoreNotExist(err)
		}
		return allHold(joinDir, files)
	}
	s.Plan = func(context.Context) ([]string, error) {
		files, err := joinFiles(m, c, b)
		if errors.Is(err, fs.ErrNotExist) { // there is no cluster yet
			files, err = map[string][]byte{materialName: nil}, nil
			for _, name := range indexFiles() {
				files[name] = nil
			}
		}
		changes, planErr := host.PlanFiles(inDir(joinDir, files), 0o644)
		return changes, errors.Join(err, planErr)
	}
	s.Run = func(context.Context) error {
		files, err := joinFiles(m, c, b)
		if err != nil {
			return err
		}
		return writeAll(joinDir, files)
	}
	return s
}

func joinFiles(m kubeadm.Machine, c kubeadm.Config, b *bundle.Bundle) (map[string][]byte, error) {
	material, err := kubeadm.Material(m, c)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(material, "", "  ")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{materialName: data}
	for _, name := range indexFiles() {
		if all[name], err = os.ReadFile(filepath.Join(b.Dir(), name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// indexFiles are the signed index of a bundle, without its parts.
func indexFiles() []string {
	return []string{bundle.IndexName, bundle.SumsName, bundle.SignatureName}
}
