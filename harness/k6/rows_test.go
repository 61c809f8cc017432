package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
)

func TestWritesOneRowForEachRequestAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv.gz")
	out, err := newRows(output.Params{ConfigArgument: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Start(); err != nil {
		t.Fatal(err)
	}
	registry := metrics.NewRegistry()
	ours := registry.MustNewMetric(metric, metrics.Trend, metrics.Time)
	theirs := registry.MustNewMetric("http_reqs", metrics.Counter)
	tagged := registry.RootTagSet().With("method", "GET").With("status", "200").With("cache_status", "HIT, a\nb")
	at := time.UnixMicro(1_795_225_723_987_776)
	out.AddMetricSamples([]metrics.SampleContainer{
		metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: theirs, Tags: tagged}, Time: at, Value: 1},
		metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: ours, Tags: tagged}, Time: at, Value: 1.25,
			Metadata: map[string]string{"iteration": "7", "planned_at_us": "25", "phase": ""},
		},
	})
	if err := out.Stop(); err != nil {
		t.Fatal(err)
	}
	compressed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	const wanted = "time_us,duration_ms,method,status,cache_status,iteration,planned_at_us,size_bytes,revision,pop," +
		"error_code,phase\n1795225723987776,1.25,GET,200,HIT? a?b,7,25,,,,,\n"
	if string(text) != wanted {
		t.Errorf("rows:\n%q\nwanted:\n%q", text, wanted)
	}
}

func TestNeedsAFile(t *testing.T) {
	if _, err := newRows(output.Params{}); err == nil {
		t.Error("no error without a file")
	}
}
