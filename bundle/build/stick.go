package build

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/version"
)

//go:embed INSTALL.txt
var installTemplate string

// stickFiles are what lies beside the parts: the program, its RPM, the books, the text for the people at
// the server, and for the security desk what is in the bundle.
func stickFiles(these program.Source, c *config.Cluster, plan *bundle.Plan, keys *program.Keys) ([]bundle.StickFile, error) {
	binary, err := bundle.StickProgram("airgap", these.Airgap)
	if err != nil {
		return nil, err
	}
	text, err := InstallText(c, plan, keys)
	if err != nil {
		return nil, err
	}
	pkg, err := program.Package(these, keys)
	if err != nil {
		return nil, err
	}
	sbom, err := plan.SBOM()
	if err != nil {
		return nil, err
	}
	report, err := plan.Report(bundle.Fingerprint(&keys.Bundle.PublicKey))
	if err != nil {
		return nil, err
	}
	books, err := docs.HTMLBooks(version.String())
	if err != nil {
		return nil, err
	}
	files := []bundle.StickFile{
		binary, bundle.StickPackage("airgap.rpm", pkg), bundle.StickBytes("INSTALL.txt", text),
		bundle.StickBytes(bundle.SBOMName, sbom), bundle.StickBytes(bundle.ReportName, report),
	}
	for _, language := range docs.Languages() { // at the servers there is no internet to read them in
		files = append(files, bundle.StickBytes(language.File(), books[language]))
	}
	return files, nil
}

// InstallText is INSTALL.txt: what people at the servers do with the bundle of this plan.
func InstallText(c *config.Cluster, plan *bundle.Plan, keys *program.Keys) ([]byte, error) {
	t, err := template.New("INSTALL.txt").Option("missingkey=error").Parse(installTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": c.Name, "Kubernetes": c.Kubernetes.Tag(), "OS": plan.Lock.OS, "Platform": plan.Lock.Platform, "Version": version.String(),
		"Fingerprint": keys.RPMFingerprint(), "ShortID": keys.RPMShortID(), "Node": c.Master().Name, "Address": c.Master().Address, "Here": "/run/media/stick/" + plan.Name,
		"Base": plan.Base, "Signer": keys.OwnFingerprint(),
		"SSH": c.SSH != nil && len(c.Nodes) > 1,
	})
	if err != nil {
		return nil, fmt.Errorf("write INSTALL.txt: %w", err)
	}
	return b.Bytes(), nil
}
