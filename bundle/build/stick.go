package build

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/version"
)

//go:embed INSTALL.txt
var installTemplate string

// stickFiles are the files next to the parts: the program, its RPM, the documentation,
// INSTALL.txt, and the SBOM and the report for the security team.
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
	sbom, err := papers.SBOM(plan)
	if err != nil {
		return nil, err
	}
	report, err := papers.Report(plan, keys.Fingerprint())
	if err != nil {
		return nil, err
	}
	pages, err := docs.HTMLFiles(version.String())
	if err != nil {
		return nil, err
	}
	files := []bundle.StickFile{
		binary, bundle.StickPackage("airgap.rpm", pkg), bundle.StickBytes("INSTALL.txt", text),
		bundle.StickBytes(papers.SBOMName, sbom), bundle.StickBytes(papers.ReportName, report),
	}
	for _, language := range docs.AllLanguages() { // the servers have no internet access to read them online
		files = append(files, bundle.StickBytes(language.File(), pages[language]))
	}
	return files, nil
}

// InstallText is INSTALL.txt: the steps on the servers for the bundle of this plan.
func InstallText(c *config.Cluster, plan *bundle.Plan, keys *program.Keys) ([]byte, error) {
	t, err := template.New("INSTALL.txt").Option("missingkey=error").Parse(installTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": c.Name, "Kubernetes": c.Kubernetes.Tag(), "OS": plan.Lock.OS, "Platform": plan.Lock.Platform, "Version": version.String(),
		"Fingerprint": keys.RPMFingerprint(), "ShortID": keys.RPMShortID(), "Node": c.Master().Name, "Address": c.Master().Address, "Here": "/mnt/stick/" + plan.Name,
		"Base": plan.Base, "Signer": keys.OwnFingerprint(),
		"SSH": c.SSH != nil && len(c.Nodes) > 1,
	})
	if err != nil {
		return nil, fmt.Errorf("write INSTALL.txt: %w", err)
	}
	return b.Bytes(), nil
}
