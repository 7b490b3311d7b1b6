package chart

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"airgap.dev/airgap/bundle/workload"
)

// Values reads values for a chart as Helm reads a file of --values: documents that follow
// each other are merged, numbers have the types of Helm, and of a key that is there twice
// the last one counts, which a notice says. An empty file is an empty mapping.
func Values(file string, text []byte) (values map[string]any, notices []string, err error) {
	if len(text) > workload.MaxFile {
		return nil, nil, fmt.Errorf("%s: %d bytes, at most %d are read", file, len(text), workload.MaxFile)
	}
	documents, err := workload.Split(file, text)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range documents {
		if err := workload.CheckAliases(d.Text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.At(), err)
		}
		notices = append(notices, d.Twice()...)
	}
	if values, err = loader.LoadValues(bytes.NewReader(text)); err != nil {
		return nil, nil, fmt.Errorf("%s: want a mapping of values: %s", file, oneLine(err.Error()))
	}
	return values, notices, nil
}
