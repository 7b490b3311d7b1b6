package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

// attackSupply plays a repository's mirror and a chart's author. On the connected host,
// airgap must refuse each plan with the reason, or report the part that it did not check.
func attackSupply(ctx context.Context, e *scenario.Env, _ target) []scenario.Part {
	return []scenario.Part{
		{Title: "a mirror removes a signature", Run: func() error { return signatureRemoved(ctx, e) }},
		{Title: "a mirror redirects a login to http", Run: func() error { return loginRedirected(ctx, e) }},
		{Title: "a chart links out of itself", Run: func() error { return chartLinks(ctx, e) }},
		{Title: "a chart's schema asks for a connection", Run: func() error { return schemaAsks(ctx, e) }},
	}
}

// planWith plans through a mirror, with the lock file of the cluster's bundle.
func planWith(ctx context.Context, e *scenario.Env, m *hostileMirror, code int, says []string, edits ...string) error {
	const name = "supply.yaml"
	edits = append([]string{
		"ca: " + e.Upstream.CA, "ca: " + m.ca,
		`"` + strings.TrimPrefix(e.Upstream.URL, "https://") + `"`, `"` + m.host() + `"`,
	}, edits...)
	config, err := e.Config(name, edits...)
	if err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(e.Work, "airgap.lock"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(e.Work, "supply.lock"), lock, 0o644); err != nil {
		return err
	}
	if err := e.Do(ctx, code, says, "bundle", "-f", config, "--plan"); err != nil {
		return err
	}
	if n := m.plainAsked.Load(); n > 0 {
		return fmt.Errorf("the listener without TLS got %d connections, want none", n)
	}
	return nil
}

const baseOS = "/dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/repodata/"

func signatureRemoved(ctx context.Context, e *scenario.Env) error {
	m, err := attackMirror(e)
	if err != nil {
		return err
	}
	defer m.Close()
	m.missing = baseOS + "repomd.xml.asc"
	says := []string{"read repository baseos", "is no longer signed", "airgap bundle --update baseos"}
	if err := planWith(ctx, e, m, 1, says); err != nil {
		return err
	}
	says = []string{"read repository baseos", "but airgap.yaml requires a signature (signedMetadata)", "repomd.xml.asc does not exist"}
	return planWith(ctx, e, m, 1, says, "    - name: baseos\n", "    - name: baseos\n      signedMetadata: required\n")
}

func loginRedirected(ctx context.Context, e *scenario.Env) error {
	m, err := attackMirror(e)
	if err != nil {
		return err
	}
	defer m.Close()
	m.redirected = baseOS + "repomd.xml"
	password := filepath.Join(e.Work, "mirror-password")
	if err := os.WriteFile(password, []byte("not-for-the-listener\n"), 0o600); err != nil {
		return err
	}
	return planWith(ctx, e, m, 1, []string{"read repository baseos", "follow redirect from https://", "it leaves https"},
		"    - name: baseos\n", "    - name: baseos\n      login: {username: bank, passwordFile: "+password+"}\n")
}

const chartInConfig = "addons:\n  - name: hostile\n    chart: {path: hostile}\nimages:\n"

// hostileChart writes a chart next to airgap.yaml.
func hostileChart(e *scenario.Env, schema string) (string, error) {
	dir := filepath.Join(e.Work, "hostile")
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, "templates"), 0o755))
	for name, text := range map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: hostile\nversion: 1.0.0\n",
		"values.yaml":           "data: x\n",
		"values.schema.json":    schema,
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\ndata: {x: '{{ .Values.data }}{{ getHostByName \"localhost\" }}'}\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir, err
}

func chartLinks(ctx context.Context, e *scenario.Env) error {
	m, err := attackMirror(e)
	if err != nil {
		return err
	}
	defer m.Close()
	dir, err := hostileChart(e, "{}")
	if err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(e.Work, "config"), filepath.Join(dir, "files")); err != nil {
		return err
	}
	return planWith(ctx, e, m, 1, []string{"add-on hostile", "files is a link to", "which is not in the chart"}, "images:\n", chartInConfig)
}

func schemaAsks(ctx context.Context, e *scenario.Env) error {
	m, err := attackMirror(e)
	if err != nil {
		return err
	}
	defer m.Close()
	if _, err := hostileChart(e, `{"$ref":`+"\n"+`"`+strings.ReplaceAll(m.plain.URL, "/", `\/`)+`\/values.json"}`); err != nil {
		return err
	}
	return planWith(ctx, e, m, 0, []string{"not checked: add-on hostile: the values of chart hostile are not validated", "all resolved"}, "images:\n", chartInConfig)
}
