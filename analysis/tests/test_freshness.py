"""Stale reads: against a brute-force oracle over random histories, and in small cases."""

import gzip

import numpy as np
import pytest
from run_folder_fixture import truncate

from stevec_report.freshness import ClusterSums, FreshnessError, History, measure

HEADER = "sent_at_us,iteration,page,method,status,error_code,cache_status,duration_ms,size_bytes,revision"
BEGIN_US = 1_795_000_000_000_000


def write_rows(folder, rows, name="samples.csv.gz"):
    """Rows are (sent_us, page, method, status, duration_us, revision or '')."""
    with gzip.open(folder / name, "wt", newline="") as file:
        file.write(f"{HEADER}\n")
        for i, (sent, page, method, status, duration, revision) in enumerate(rows):
            file.write(f"{BEGIN_US + sent},{i},{page},{method},{status},,HIT,{duration / 1000},5000,{revision}\n")


def measure_rows(tmp_path, rows, **options):
    write_rows(tmp_path, rows)
    return measure(tmp_path, **{"tolerance_ms": 0, **options})


def test_a_read_is_stale_once_a_newer_revision_was_acknowledged_before_it_was_sent(tmp_path):
    edit = (1_000, "a", "POST", 201, 2_000, 7)  # acknowledged at 3000
    for sent, stale in ((500, 0), (2_000, 0), (3_000, 0), (3_001, 1), (1_003_000, 1)):
        found = measure_rows(tmp_path, [edit, (sent, "a", "GET", 200, 5_000_000, 6)])
        assert (found.judged, found.stale) == (1, stale), sent
    assert found.behind_s.tolist() == [1.0]
    assert found.versions_behind.tolist() == [1]
    assert found.stale_ratio == 1
    assert (found.ratio_older_than(0.9), found.ratio_older_than(1.0)) == (1, 0)


def test_seconds_count_from_the_first_newer_revision_and_versions_to_the_newest(tmp_path):
    edits = [
        (0, "a", "POST", 201, 10, 2),
        (1_000_000, "a", "PUT", 200, 10, 3),
        (2_000_000, "a", "POST", 200, 10, 4),
    ]
    found = measure_rows(tmp_path, [*edits, (3_000_010, "a", "GET", 200, 9, 1), (3_000_010, "a", "GET", 200, 9, 3)])
    assert found.behind_s.tolist() == [1.0, 3.0]
    assert found.versions_behind.tolist() == [1, 3]
    assert found.summary() == {
        "reads_judged": 2, "reads_stale": 2, "reads_uncertain": 0, "reads_unknown": 0,
        "edits_acknowledged": 3, "stale_ratio": 1.0,
        "staleness_p50_s": 2.0, "staleness_p95_s": pytest.approx(2.9), "staleness_max_s": 3.0,
        "versions_behind_p50": 1, "versions_behind_p95": 3, "versions_behind_max": 3,
    }  # fmt: skip


def test_reads_belong_to_the_edit_that_they_follow(tmp_path):
    edits = [(0, "a", "POST", 201, 10, 2), (1000, "a", "PUT", 200, 10, 3), (5000, "a", "PUT", 200, 10, 4)]
    edits += [(1000, "b", "PUT", 200, 10, 2), (2000, "c", "PUT", 200, 10, 9)]
    reads = [(500, "a", 1), (600, "a", 2), (2000, "a", 1), (2100, "a", 3), (6000, "a", 4), (500, "b", 1)]
    reads += [(2000, "b", 1), (2100, "b", 1), (2200, "b", 2), (500, "d", 1)]
    found = measure_rows(tmp_path, edits + [(sent, page, "GET", 200, 9, revision) for sent, page, revision in reads])
    # The copy of `a` that was stale after the first edit was so after the second one: both are one cluster.
    assert found.clusters == ClusterSums.of(10, [2, 0, 2, 0], [4, 1, 3, 0], [0, 1, 0])


def test_an_edit_of_another_page_or_one_that_failed_makes_nothing_stale(tmp_path):
    rows = [
        (0, "b", "POST", 200, 10, 9),
        (0, "a", "POST", 409, 10, ""),
        (0, "a", "POST", 503, 10, 9),
        (0, "a", "POST", 0, 10, ""),
        (100, "a", "GET", 200, 10, 1),
        (100, "c", "GET", 200, 10, 1),
    ]
    found = measure_rows(tmp_path, rows)
    assert (found.judged, found.stale, found.edits) == (2, 0, 1)


def test_an_edit_whose_acknowledgement_was_lost_counts_among_the_versions_only(tmp_path):
    lost = (0, "a", "POST", 0, 10, "")  # it made revision 2, but its response was lost
    rows = [lost, (100, "a", "GET", 200, 10, 1), (200, "a", "GET", 200, 10, 2), (300, "a", "GET", 200, 10, 1)]
    assert measure_rows(tmp_path, rows).stale == 0
    rows += [(400, "a", "POST", 200, 10, 3), (500, "a", "GET", 200, 10, 1), (500, "a", "GET", 200, 10, 2)]
    assert measure_rows(tmp_path, rows).versions_behind.tolist() == [1, 2]


def test_answers_without_a_revision_are_counted_and_not_judged(tmp_path):
    rows = [
        (0, "a", "POST", 200, 10, 2),
        (100, "a", "GET", 200, 10, ""),
        (100, "a", "GET", 301, 10, "x"),
        (100, "a", "GET", 502, 10, ""),
        (100, "a", "GET", 0, 10, ""),
    ]
    found = measure_rows(tmp_path, rows)
    assert (found.judged, found.unknown, found.unanswered) == (0, 2, 2)
    assert found.stale_ratio is None and found.ratio_older_than(1) is None


def test_a_page_that_is_missing_is_as_old_as_the_newest_deletion_that_it_may_show(tmp_path):
    made, deleted, again = (
        (0, "a", "POST", 201, 10, 1),
        (1_000, "a", "DELETE", 204, 10, 2),
        (2_000, "a", "POST", 201, 10, 3),
    )
    assert measure_rows(tmp_path, [made, (500, "a", "GET", 404, 10, "")]).versions_behind.tolist() == [1]
    assert measure_rows(tmp_path, [made, deleted, (1_500, "a", "GET", 404, 10, "")]).stale == 0
    assert measure_rows(tmp_path, [made, deleted, (1_500, "a", "GET", 200, 10, 1)]).stale == 1
    after = measure_rows(tmp_path, [made, deleted, again, (3_000, "a", "GET", 404, 10, "")])
    assert after.versions_behind.tolist() == [1]
    # The 404 may come from the deletion whose response was lost.
    lost = (2_500, "a", "DELETE", 0, 10, "")
    unsure = measure_rows(tmp_path, [made, deleted, again, lost, (3_000, "a", "GET", 404, 10, "")])
    assert (unsure.judged, unsure.unknown) == (0, 1)


def test_what_the_tolerance_spares_is_counted_as_uncertain(tmp_path):
    rows = [(0, "a", "POST", 200, 1_000, 2)] + [(1_000 + late, "a", "GET", 200, 10, 1) for late in (0, 1, 500, 501)]
    found = measure_rows(tmp_path, rows, tolerance_ms=0.5)
    assert (found.judged, found.stale, found.uncertain) == (4, 1, 2)


def test_damaged_and_missing_samples_are_named(tmp_path):
    with pytest.raises(FreshnessError, match=r"samples\.csv\.gz is missing"):
        measure(tmp_path)
    write_rows(tmp_path, [(i, "a", "GET", 200, 10, 1) for i in range(1000)])
    truncate(tmp_path / "samples.csv.gz")
    with pytest.raises(FreshnessError, match="freshness cannot be told"):
        measure(tmp_path)


def test_a_folder_whose_name_is_a_pattern_is_taken_literally(tmp_path):
    folder = tmp_path / "[a]*?"
    folder.mkdir()
    assert measure_rows(folder, [(0, "a", "GET", 200, 10, 1)]).judged == 1


@pytest.mark.parametrize("seed", range(12))
def test_the_oracle_agrees_on_random_histories(tmp_path, seed):
    rng = np.random.default_rng(seed)
    tolerance_us = int(rng.choice([0, 1, 7, 40]))
    rows = random_history(rng, pages=int(rng.integers(1, 5)), edits=40, reads=250)
    cut = int(rng.integers(0, len(rows)))
    write_rows(tmp_path, rows[:cut])
    write_rows(tmp_path, rows[cut:], "background.csv.gz")
    found = measure(tmp_path, tolerance_ms=tolerance_us / 1000)

    expected = [judge_slowly(read, rows, tolerance_us) for read in rows if read[2] == "GET"]
    verdicts = [verdict for verdict in expected if verdict not in ("unknown", "unanswered")]
    assert found.judged == len(verdicts)
    assert found.unknown == expected.count("unknown")
    assert found.unanswered == expected.count("unanswered")
    stale = [verdict for verdict in verdicts if verdict[0]]
    assert found.stale == len(stale) > 0
    assert found.versions_behind.tolist() == sorted(versions for _, versions, _, _ in stale)
    assert np.allclose(found.behind_s, sorted(behind / 1e6 for _, _, behind, _ in stale), rtol=1e-6)
    assert found.uncertain == sum(uncertain for *_, uncertain in verdicts)


def random_history(rng, pages, edits, reads):
    """Edits that overlap, fail or lose their response, deletions, and reads of any committed revision."""
    rows = []
    for page in range(pages):
        revision, deleted, states = 0, set(), [(0, 0)]
        for commit in np.sort(rng.integers(0, 3_000, edits)).tolist():
            sent, done = commit - int(rng.integers(0, 60)), commit + int(rng.integers(0, 60))
            fate = rng.random()
            method = "DELETE" if revision and revision not in deleted and rng.random() < 0.15 else "POST"
            if fate < 0.1:  # refused, changes nothing
                rows.append((sent, f"p{page}", method, 409, done - sent, ""))
                continue
            revision += 1
            states.append((commit, revision))
            if method == "DELETE":
                deleted.add(revision)
            if fate < 0.2:  # made, but its acknowledgement was lost or unreadable
                status, number = (0, "") if rng.random() < 0.5 else (502, "")
                rows.append((sent, f"p{page}", method, status, done - sent, number))
            else:
                rows.append((sent, f"p{page}", method, 200, done - sent, revision))
        for _ in range(reads):
            sent = int(rng.integers(-50, 3_100))
            done = sent + int(rng.integers(0, 60))
            known = [number for commit, number in states if commit <= done]
            number = known[max(0, len(known) - 1 - int(rng.geometric(0.3)) + 1)] if known else 0
            if rng.random() < 0.05:
                rows.append((sent, f"p{page}", "GET", int(rng.choice([0, 500, 503])), done - sent, ""))
            elif number == 0 or number in deleted:
                rows.append((sent, f"p{page}", "GET", 404, done - sent, ""))
            else:
                text = "" if rng.random() < 0.03 else number
                rows.append((sent, f"p{page}", "GET", int(rng.choice([200, 304])), done - sent, text))
    rng.shuffle(rows)
    return [(int(s), str(p), str(m), int(c), int(d), int(r) if r != "" else "") for s, p, m, c, d, r in rows]


def judge_slowly(read, rows, tolerance_us):
    """Apply the definition literally to all rows; return (stale, versions, behind_us, uncertain) or a reason."""
    sent, page, _, status, duration, revision = read
    edits = [row for row in rows if row[1] == page and row[2] != "GET"]
    acknowledged = [(s + d, r, s, m) for s, _, m, c, d, r in edits if 200 <= c < 400 and r != ""]
    if status in (404, 410):
        could_be = [row for row in edits if row[2] == "DELETE" and row[0] < sent + duration]
        if any(not 200 <= row[3] < 500 for row in could_be):
            return "unknown"
        revision = max([r for _, r, s, m in acknowledged if m == "DELETE" and s < sent + duration], default=0)
    elif not 200 <= status < 400:
        return "unanswered"
    elif revision == "":
        return "unknown"

    def stale_with(tolerance):
        newest = max([r for done, r, *_ in acknowledged if done + tolerance < sent], default=0)
        return newest if newest > revision else None

    newest = stale_with(tolerance_us)
    if newest is None:
        return False, 0, 0, stale_with(0) is not None
    return True, newest - revision, sent - min(done for done, r, *_ in acknowledged if r > revision), False


def test_single_verdicts_agree_with_the_oracle_where_moments_coincide():
    rng = np.random.default_rng(5)
    for _ in range(30):
        count = int(rng.integers(0, 30))
        page, done, revision = (
            rng.integers(0, 3, count),
            rng.integers(0, 12, count),
            rng.integers(0, 8, count),
        )
        history = History(page, BEGIN_US + done, revision)
        reads = rng.integers(0, 4, 60), rng.integers(-3, 20, 60), rng.integers(0, 10, 60)
        tolerance = int(rng.integers(0, 4))
        verdicts = history.judge(reads[0], BEGIN_US + reads[1], reads[2], tolerance)
        for i, (of, sent, seen) in enumerate(zip(*reads, strict=True)):
            before = [r for p, d, r in zip(page, done, revision, strict=True) if p == of and d + tolerance < sent]
            newer = [d for p, d, r in zip(page, done, revision, strict=True) if p == of and r > seen]
            stale = max(before, default=0) > seen
            assert verdicts.stale[i] == stale
            assert verdicts.versions_behind[i] == (max(before) - seen if stale else 0)
            assert verdicts.behind_us[i] == (sent - min(newer) if stale else 0)
            assert verdicts.uncertain[i] == (not stale and any(d < sent for d in newer))


def test_a_history_refuses_what_it_cannot_arrange():
    with pytest.raises(ValueError, match="one length"):
        History([0], [1, 2], [1])
    with pytest.raises(ValueError, match="0 or more"):
        History([0], [1], [-1])
    with pytest.raises(ValueError, match="too many pages"):
        History([0, 1 << 40], [0, 1 << 30], [1, 1])
