package program

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"text/template"

	"github.com/spf13/cobra"

	"airgap.dev/airgap"
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/signing"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
)

//go:embed RELEASE.txt
var releaseText string

// ReleaseOptions are the settings of a release.
type ReleaseOptions struct {
	Out      string                // directory to create; it must not exist
	Keys     KeyOptions            // of the keys that sign it
	Commands func() *cobra.Command // makes the command tree, for the man pages in airgap.rpm
}

// Released describes a release after it was written.
type Released struct {
	Dir    string `json:"dir"`
	Key    string `json:"key"`    // fingerprint of the key that signed SHA256SUMS
	RPMKey string `json:"rpmKey"` // fingerprint of the key that signed the package
}

// Release writes and signs the files of a release of this program. The same program and
// keys give the same bytes.
func Release(ctx context.Context, o ReleaseOptions) (*Released, error) {
	these, err := Here(o.Commands)
	if err != nil {
		return nil, err
	}
	keys, err := CheckKeys(ctx, o.Keys)
	if err != nil {
		return nil, err
	}
	if err := keys.Make(); err != nil {
		return nil, err
	}
	files, err := ReleaseFiles(these, keys)
	if err = keys.Pending(err); err != nil {
		return nil, fmt.Errorf("make release: %w", err)
	}
	if err = bundle.WriteSigned(o.Out, files, keys.Bundle); errors.Is(err, signing.ErrPending) {
		err = errors.Join(keys.Pending(err), host.RemoveTree(o.Out)) // it was created in this run
	}
	if err != nil {
		return nil, fmt.Errorf("make release: %w", err)
	}
	return &Released{o.Out, keys.Fingerprint(), keys.RPMFingerprint()}, nil
}

// Write prints the directory, the signing keys and the next step.
func (r *Released) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n  SHA256SUMS is signed with %s\n  the package is signed with %s\n  next: publish both fingerprints in another place than the release\n", r.Dir, r.Key, r.RPMKey)
	return err
}

// ReleaseFiles are the files of a release without SHA256SUMS and its signature. The
// package of a release contains no key: the package in each bundle contains the key of
// the builder.
func ReleaseFiles(p Source, keys *Keys) ([]bundle.StickFile, error) {
	at, err := p.time()
	if err != nil {
		return nil, err
	}
	v := tagOf(version.String())
	end := "-" + v + "-linux-amd64"
	names := Source{Airgap: "airgap" + end, NVML: nvmlName + end, Probe: probeName + end}
	program, err := bundle.StickProgram(names.Airgap, p.Airgap)
	if err != nil {
		return nil, err
	}
	helper, err := bundle.StickProgram(names.NVML, p.NVML)
	if err != nil {
		return nil, err
	}
	probe, err := bundle.StickProgram(names.Probe, p.Probe)
	if err != nil {
		return nil, err
	}
	pkg, err := packageOf(p, keys.RPM)
	if err != nil {
		return nil, err
	}
	public, err := keys.RPM.Public()
	if err != nil {
		return nil, err
	}
	sbom, err := papers.ProgramsSBOM(version.String(), at, papers.Program{Name: names.Airgap, Path: p.Airgap}, papers.Program{Name: names.NVML, Path: p.NVML}, papers.Program{Name: names.Probe, Path: p.Probe})
	if err != nil {
		return nil, err
	}
	text, err := renderReleaseText(p, names, v)
	if err != nil {
		return nil, err
	}
	return []bundle.StickFile{
		program, helper, probe, bundle.StickPackage("airgap-"+v+".rpm", pkg), bundle.StickBytes(bundle.RPMKeyName, public),
		bundle.StickBytes(papers.SBOMName, sbom), bundle.StickBytes("README.txt", text), bundle.StickBytes("LICENSE", airgap.License),
		bundle.StickBytes("THIRD-PARTY", airgap.ThirdParty()),
	}, nil
}

func renderReleaseText(p, names Source, v string) ([]byte, error) {
	made, err := buildinfo.ReadFile(p.Airgap)
	if err != nil {
		return nil, err
	}
	compiler, err := compilerOf(p.NVML)
	if err != nil {
		return nil, err
	}
	t, err := template.New("README.txt").Option("missingkey=error").Parse(releaseText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Version": version.String(), "Program": names.Airgap, "Helper": names.NVML, "Probe": names.Probe, "Package": "airgap-" + v + ".rpm", "Go": made.GoVersion, "C": compiler})
	return b.Bytes(), err
}

// compilerOf returns the name that the C compiler recorded in a program.
func compilerOf(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if s := f.Section(".comment"); s != nil {
		text, err := s.Data()
		first, _, _ := bytes.Cut(text, []byte{0})
		return string(first), err
	}
	return "", errors.New("the program does not name its C compiler: " + program)
}
