package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
)

// metric is the only one of which rows are written (loadgen/scenarios/requests.js).
const metric = "stevec_request"

// flushPeriod bounds the memory of samples that are not written yet.
const flushPeriod = 200 * time.Millisecond

var (
	tags     = []string{"method", "status", "cache_status"}
	metadata = []string{"iteration", "planned_at_us", "size_bytes", "revision", "pop", "error_code", "phase"}
	// separators would end a field or a row: a server may send anything in a header.
	separators = strings.NewReplacer(",", "?", "\n", "?", "\r", "?", `"`, "?")
)

// rows writes the samples of one metric to a gzip-compressed CSV file.
type rows struct {
	output.SampleBuffer
	path    string
	file    *os.File
	gzip    *gzip.Writer
	text    *bufio.Writer
	flusher *output.PeriodicFlusher
	row     []byte
	failed  error
}

func newRows(params output.Params) (output.Output, error) {
	if params.ConfigArgument == "" {
		return nil, errors.New("the output stevec needs a file: --out stevec=FILE")
	}
	return &rows{path: params.ConfigArgument}, nil
}

func (r *rows) Description() string { return "stevec (" + r.path + ")" }

// Start creates the file. The fastest compression: the lab reads the file once, right after the load.
func (r *rows) Start() error {
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r.file = file
	r.gzip, err = gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	r.text = bufio.NewWriter(r.gzip)
	columns := append([]string{"time_us", "duration_ms"}, append(tags, metadata...)...)
	if _, err = r.text.WriteString(strings.Join(columns, ",") + "\n"); err != nil {
		return err
	}
	r.flusher, err = output.NewPeriodicFlusher(flushPeriod, r.flush)
	return err
}

// AddMetricSamples keeps only the samples of our metric: k6 adds a dozen of its own for each request.
func (r *rows) AddMetricSamples(containers []metrics.SampleContainer) {
	kept := containers[:0:0]
	for _, container := range containers {
		if sample, ok := container.(metrics.Sample); ok && sample.Metric.Name == metric {
			kept = append(kept, container)
		}
	}
	r.SampleBuffer.AddMetricSamples(kept)
}

// Stop writes what is left, and fails if the file is not complete.
func (r *rows) Stop() error {
	r.flusher.Stop()
	return errors.Join(r.failed, r.text.Flush(), r.gzip.Close(), r.file.Close())
}

func (r *rows) flush() {
	for _, container := range r.GetBufferedSamples() {
		for _, sample := range container.GetSamples() {
			if _, err := r.text.Write(r.format(sample)); err != nil && r.failed == nil {
				r.failed = err
			}
		}
	}
}

// format returns a row, which is valid until the next call.
func (r *rows) format(sample metrics.Sample) []byte {
	row := strconv.AppendInt(r.row[:0], sample.Time.UnixMicro(), 10)
	row = append(row, ',')
	row = strconv.AppendFloat(row, sample.Value, 'f', -1, 64)
	for _, name := range tags {
		value, _ := sample.Tags.Get(name)
		row = append(append(row, ','), separators.Replace(value)...)
	}
	for _, name := range metadata {
		row = append(append(row, ','), separators.Replace(sample.Metadata[name])...)
	}
	r.row = append(row, '\n')
	return r.row
}
