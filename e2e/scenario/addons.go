package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// withAddons writes manifests next to airgap.yaml and returns edits for it: a chart with
// values and manifests name the images in place of a list. Some manifests are installed,
// others are only in the bundle. It does not change a site's file.
func withAddons(e *Env) ([]string, error) {
	if e.hosts != nil {
		return nil, nil
	}
	const board = `apiVersion: v1
kind: ConfigMap
metadata: {name: board}
data: {today: soup}
`
	err := errors.Join(
		os.WriteFile(filepath.Join(e.Work, "board.yaml"), []byte(board), 0o644),
		os.WriteFile(filepath.Join(e.Work, "workload.yaml"), []byte(WorkloadYAML), 0o644))
	return []string{
		"images:\n  list:\n    - docker.io/library/hello:1.0\n    - quay.io/lab/tools:1.0\n", `images:
  manifests: [workload.yaml]
addons:
  - name: shop
    chart: {repository: "https://charts.example/stable", name: shop, version: 1.0.0}
    values: {image: "docker.io/library/hello:1.0", replicas: 2}
  - name: board
    namespace: shop
    manifests: [board.yaml]
`}, err
}

// planShowsSources checks that the plan shows the source of each image that is not in a list.
func planShowsSources(ctx context.Context, e *Env, edits []string) error {
	config, err := e.Config("airgap.yaml", edits...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{
		"complete: ", "all resolved", "chart    shop 1.0.0",
		"for add-on shop: Deployment shop/shop, init container wait",
		"for add-on shop: Deployment shop/shop, container shop",
		"for workload.yaml: ",
	}, "bundle", "-f", config, "--facts", e.Facts(), "--plan")
}

// addonsRun requires the objects of the chart and the manifests in the cluster, with running pods.
func addonsRun(ctx context.Context, e *Env, m lab.Machine) error {
	if err := e.Script(ctx, m,
		Kubectl+"-n shop rollout status deployment/shop --timeout=120s",
		Kubectl+"-n shop get shop/shop -o jsonpath={.spec.open} | grep -qx true",
		Kubectl+"-n shop get configmap/board -o jsonpath={.data.today} | grep -qx soup",
	); err != nil {
		return fmt.Errorf("the add-ons: %w", err)
	}
	return nil
}
