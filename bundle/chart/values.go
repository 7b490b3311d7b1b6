package chart

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"airgap.dev/airgap/bundle/workload"
)

// Values reads values for a chart as Helm reads a file of --values: it merges all documents
// of the file, numbers have the types of Helm, and the last value of a duplicate key counts,
// with a notice. An empty file is an empty mapping.
func Values(file string, text []byte) (values map[string]any, notices []string, err error) {
	if len(text) > workload.MaxFile {
		return nil, nil, fmt.Errorf("%s: the file has %d bytes, the limit is %d", file, len(text), workload.MaxFile)
	}
	documents, err := workload.Split(file, text)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range documents {
		if err := workload.CheckAliases(d.Text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.At(), err)
		}
		notices = append(notices, d.DuplicateKeys()...)
	}
	values, err = loader.LoadValues(bytes.NewReader(text))
	if err == nil {
		return values, notices, nil
	}
	for _, d := range documents {
		if fault := d.Fault(); fault != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.At(), fault)
		}
	}
	return nil, nil, fmt.Errorf("%s: expected a mapping of values: %s", file, oneLine(err.Error()))
}
