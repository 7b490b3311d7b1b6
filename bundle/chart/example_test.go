package chart_test

import (
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle/chart"
)

func Example() {
	dir, err := os.MkdirTemp("", "chart")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: till\nversion: 1.2.3\n",
		"templates/shop.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {open: {{ .Values.open | quote }}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			fmt.Println(err)
			return
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	archive, err := chart.Pack(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := chart.Open(archive)
	if err != nil {
		fmt.Println(err)
		return
	}
	rendered, err := c.Render(chart.Release{Name: "cash", Namespace: "shop", KubeVersion: "1.36.3", Values: map[string]any{"open": "always"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	o := rendered.Objects[0]
	fmt.Println(c.Name, c.Version, "renders", o.Title("shop"), o.Object["data"])
	// Output: till 1.2.3 renders ConfigMap shop/cash map[open:always]
}
